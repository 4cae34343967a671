//! Sockets that wait to be read: the plainest calls are answered here, all else is handed to Python.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bindings::wire::lasting::LastingResults;
use crate::bindings::wire::tally::Tally;
use crate::wire::answers::Room;
use crate::wire::fair_queue::{Descriptor, FairQueue, Peer};
use crate::wire::socket::{self, Borrowed};
use crate::wire::turn_clock::TurnClock;

/// Sockets in the order in which they are to be read.
#[pyclass(module = "wsnode._native.wire")]
struct SocketQueue {
    queue: FairQueue,
    watched: HashMap<Descriptor, Watched>,
    /// What is read at once at most.
    buffer: Vec<u8>,
    tally: Tally,
    /// Seconds that the turn of the socket that was handed out had taken by then.
    spent: f64,
    /// The clock of that turn.
    clock: TurnClock,
}

struct Watched {
    peer: Peer,
    /// The connection, while its plainest calls may be answered here.
    plain: Option<Plain>,
}

/// A connection that shares results that last.
struct Plain {
    connection: Py<PyAny>,
    lasting: Py<LastingResults>,
    /// What all replies to one burst may take, in bytes.
    room: usize,
}

type Bytes<'py> = Option<Bound<'py, PyBytes>>;

/// What of a socket is left to Python: received bytes, none if it is to read itself, and replies that were not sent.
struct Left<'py> {
    received: Bytes<'py>,
    unsent: Bytes<'py>,
}

#[pymethods]
impl SocketQueue {
    #[new]
    #[pyo3(signature = (receive_bytes, quick_seconds, /))]
    fn new(receive_bytes: usize, quick_seconds: f64) -> Self {
        Self {
            queue: FairQueue::default(),
            watched: HashMap::new(),
            buffer: vec![0; receive_bytes],
            tally: Tally::new(quick_seconds),
            spent: 0.0,
            clock: TurnClock::new(false),
        }
    }

    #[getter]
    fn waiting(&self) -> usize {
        self.queue.waiting()
    }

    #[getter]
    fn known(&self) -> usize {
        self.queue.known()
    }

    #[pyo3(signature = (descriptor, peer, connection=None, /))]
    fn watch(
        &mut self,
        descriptor: Descriptor,
        peer: Option<&str>,
        connection: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let plain = connection.map(Plain::of).transpose()?.flatten();
        self.watched.insert(descriptor, Watched { peer: peer.map(Into::into), plain });
        Ok(())
    }

    #[pyo3(signature = (descriptor, /))]
    fn hand_over(&mut self, descriptor: Descriptor) {
        if let Some(watched) = self.watched.get_mut(&descriptor) {
            watched.plain = None;
        }
    }

    #[pyo3(signature = (descriptor, /))]
    fn forget(&mut self, descriptor: Descriptor) {
        self.watched.remove(&descriptor);
        self.queue.forget(descriptor);
    }

    #[pyo3(signature = (descriptor, /))]
    fn add(&mut self, descriptor: Descriptor) {
        let peer = self.watched.get(&descriptor).and_then(|watched| watched.peer.clone());
        self.queue.add(descriptor, peer);
    }

    #[pyo3(signature = (arrivals, arrived, /))]
    fn add_all(&mut self, arrivals: Vec<(Descriptor, u32)>, arrived: u32) -> Vec<Descriptor> {
        let mut others = Vec::new();
        for (descriptor, events) in arrivals {
            if events != arrived {
                self.hand_over(descriptor);
                // To end takes long, so it is for those to wait that do, behind quick ones.
                self.queue.forget(descriptor);
                others.push(descriptor);
            }
            self.add(descriptor);
        }
        others
    }

    #[pyo3(signature = (seconds, /))]
    fn next<'py>(&mut self, py: Python<'py>, seconds: f64) -> Option<(Descriptor, Bytes<'py>, Bytes<'py>)> {
        let most = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        self.clock = TurnClock::new(self.queue.waiting() > 1);
        let mut found = None;
        while self.clock.elapsed() <= most {
            let Some(descriptor) = self.queue.pop() else {
                break;
            };
            let left = self.visit(py, descriptor);
            let spent = self.clock.turn();
            if let Some(Left { received, unsent }) = left {
                self.spent = if received.is_some() { spent } else { 0.0 };
                found = Some((descriptor, received, unsent));
                break;
            }
            self.queue.charge(spent);
        }
        self.tally.report(py);
        found
    }

    #[pyo3(signature = (seconds, /))]
    fn counted(&mut self, seconds: f64) -> f64 {
        self.clock.counted(seconds)
    }

    #[pyo3(signature = (seconds, /))]
    fn charge(&mut self, seconds: f64) {
        self.queue.charge(self.spent + seconds);
        self.spent = 0.0;
    }
}

impl SocketQueue {
    /// Read a socket and answer the calls that it begins with, if they are plain; None if nothing is left to Python.
    fn visit<'py>(&mut self, py: Python<'py>, descriptor: Descriptor) -> Option<Left<'py>> {
        let Some(plain) = self.watched.get(&descriptor).and_then(|watched| watched.plain.as_ref()) else {
            return Some(Left { received: None, unsent: None });
        };
        let socket = Borrowed::new(descriptor);
        let size = socket.receive(&mut self.buffer)?;
        // Behind a full buffer there may be more, of which the reader takes note.
        let may_answer = 0 < size && size < self.buffer.len();
        let data = &self.buffer[..size];
        let largest = if may_answer { plain.largest(py) } else { 0 };
        if largest == 0 {
            return Some(Left { received: Some(PyBytes::new(py, data)), unsent: None });
        }
        let (began, lasting) = (Instant::now(), plain.lasting.borrow(py));
        let Some(answered) = lasting.answer_frames(data, Room { largest, whole: plain.room }) else {
            return Some(Left { received: Some(PyBytes::new(py, data)), unsent: None });
        };
        self.tally.add(py, &plain.connection, &plain.lasting, &answered, began.elapsed().as_secs_f64());
        let sent = socket.send(&answered.text);
        left(py, &data[answered.size..], &answered.text[sent..])
    }
}

/// What is left where there is anything.
fn left<'py>(py: Python<'py>, received: &[u8], unsent: &[u8]) -> Option<Left<'py>> {
    let bytes = |part: &[u8]| (!part.is_empty()).then(|| PyBytes::new(py, part));
    let left = Left { received: bytes(received), unsent: bytes(unsent) };
    (left.received.is_some() || left.unsent.is_some()).then_some(left)
}

impl Plain {
    /// The connection with what it shares; None if that is nothing.
    fn of(connection: Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let lasting: Option<Py<LastingResults>> = connection.getattr("lasting")?.extract()?;
        let Some(lasting) = lasting else {
            return Ok(None);
        };
        let room = connection.getattr("burst_bytes")?.extract()?;
        Ok(Some(Self { connection: connection.unbind(), lasting, room }))
    }

    /// The longest reply that may be sent now, bytes having arrived; 0 if none may.
    fn largest(&self, py: Python<'_>) -> usize {
        let largest = self.connection.call_method0(py, intern!(py, "largest_plain_reply"));
        largest.and_then(|largest| largest.extract(py)).unwrap_or_else(|error: PyErr| {
            // The bytes must not be lost with it: Python's way with them goes on.
            error.write_unraisable(py, Some(self.connection.bind(py)));
            0
        })
    }
}

/// Send what the system accepts of `data` on a socket that does not block; the interpreter's lock is kept.
#[pyfunction]
#[pyo3(signature = (descriptor, data, /))]
fn send_now(descriptor: Descriptor, data: &[u8]) -> PyResult<usize> {
    Ok(socket::send_now(descriptor, data)?)
}

/// The events that wait at an epoll, `most` at the most; the interpreter's lock is kept.
#[pyfunction]
#[pyo3(signature = (epoll, most, /))]
fn waiting_events(epoll: Descriptor, most: usize) -> PyResult<Vec<(Descriptor, u32)>> {
    Ok(socket::waiting_events(epoll, most)?)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(send_now, module)?)?;
    module.add_function(wrap_pyfunction!(waiting_events, module)?)?;
    module.add_class::<SocketQueue>()
}
