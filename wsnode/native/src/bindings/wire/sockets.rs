//! Sockets that wait to be read: the plainest calls are answered here, all else is handed to Python.

use std::collections::HashMap;
use std::slice;
use std::time::{Duration, Instant};

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bindings::wire::lasting::LastingResults;
use crate::bindings::wire::tally::Tally;
use crate::wire::answers::Room;
use crate::wire::fair_queue::{Descriptor, FairQueue, Peer};
use crate::wire::socket;
use crate::wire::turn_clock::TurnClock;

/// Sockets in the order in which they are to be read.
#[pyclass(module = "wsnode._native.wire")]
struct SocketQueue {
    queue: FairQueue,
    watched: HashMap<Descriptor, Watched>,
    /// How much is read at once at most, in bytes.
    most: usize,
    /// What it is read to.
    buffer: Option<Buffer>,
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
            most: receive_bytes,
            buffer: None,
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
        let plain = self.watched.get(&descriptor).and_then(|watched| watched.plain.as_ref());
        let (Some(plain), Ok(buffer)) = (plain, Buffer::of(py, &mut self.buffer, self.most)) else {
            return Some(Left { received: None, unsent: None });
        };
        let data = buffer.receive(descriptor)?;
        if data.len() == self.most {
            // There may be more behind it, of which the reader takes note.
            return Some(Left { received: self.buffer.take().map(|full| full.into_bytes(py)), unsent: None });
        }
        let largest = if data.is_empty() { 0 } else { plain.largest(py) };
        if largest == 0 {
            return Some(Left { received: Some(PyBytes::new(py, data)), unsent: None });
        }
        let (began, lasting) = (Instant::now(), plain.lasting.borrow(py));
        let Some(answered) = lasting.answer_frames(data, Room { largest, whole: plain.room }) else {
            return Some(Left { received: Some(PyBytes::new(py, data)), unsent: None });
        };
        self.tally.add(py, &plain.connection, &plain.lasting, &answered, began.elapsed().as_secs_f64());
        // An error of the socket is found again, and reported, when Python sends the remaining bytes.
        let sent = socket::send_now(descriptor, &answered.text).unwrap_or(0);
        left(py, &data[answered.size..], &answered.text[sent..])
    }
}

/// Where bytes are read to, which become an object of Python's: those of long messages are not copied for it.
struct Buffer {
    bytes: Py<PyBytes>,
    size: usize,
}

impl Buffer {
    /// The buffer that there is, or a new one.
    fn of<'a>(py: Python<'_>, kept: &'a mut Option<Self>, size: usize) -> PyResult<&'a mut Self> {
        match kept {
            Some(buffer) => Ok(buffer),
            None => Ok(kept.insert(Self::new(py, size)?)),
        }
    }

    fn new(py: Python<'_>, size: usize) -> PyResult<Self> {
        let length = ffi::Py_ssize_t::try_from(size)?;
        // SAFETY: this makes an object of bytes, and nobody else has it before `into_bytes`.
        let bytes = unsafe {
            let made = ffi::PyBytes_FromStringAndSize(std::ptr::null(), length);
            Bound::from_owned_ptr_or_err(py, made)?.cast_into_unchecked()
        };
        Ok(Self { bytes: bytes.unbind(), size })
    }

    /// What has arrived at a socket, read to the beginning; None if nothing has.
    fn receive(&mut self, descriptor: Descriptor) -> Option<&[u8]> {
        // SAFETY: the buffer is `self.size` bytes long, and only the bytes that `receive_now` has initialised are read.
        unsafe {
            let begin = ffi::PyBytes_AsString(self.bytes.as_ptr());
            let size = socket::receive_now(descriptor, slice::from_raw_parts_mut(begin.cast(), self.size))?;
            Some(slice::from_raw_parts(begin.cast(), size))
        }
    }

    /// The bytes, once all have been written.
    fn into_bytes(self, py: Python<'_>) -> Bound<'_, PyBytes> {
        self.bytes.into_bound(py)
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
