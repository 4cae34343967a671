//! Sockets that wait to be read. The simplest calls are answered here, all else is left to Python.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::slice;
use std::time::{Duration, Instant};

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bindings::wire::fast_path::FastPath;
use crate::bindings::wire::tally::Tally;
use crate::wire::fair_queue::{Descriptor, FairQueue, Peer};
use crate::wire::native_methods::ReplyLimits;
use crate::wire::socket;
use crate::wire::turn_clock::TurnClock;

/// Highest number of events that one call reads from an epoll. With Python's own bound of 1,023, a client
/// waits for nineteen calls if 19,000 other connections end.
const EVENTS_AT_ONCE: usize = 4096;
/// Event mask of a socket that has bytes, and nothing else.
#[cfg(target_os = "linux")]
const ARRIVED: u32 = libc::EPOLLIN as u32;

/// Sockets in the order in which they are to be read.
#[pyclass(module = "wsnode._native.wire")]
struct SocketQueue {
    queue: FairQueue,
    watched: HashMap<Descriptor, Watched>,
    /// Bound of the bytes of one read.
    most: usize,
    buffer: Option<Buffer>,
    tally: Tally,
    /// Seconds that the turn of the last returned socket had taken when it was returned.
    spent: f64,
    clock: TurnClock,
    /// Seconds charged for the last turn of Python.
    charged: f64,
    /// True if time in which this thread was suspended counts as well.
    counts_suspension: bool,
}

struct Watched {
    peer: Peer,
    /// Connection, while its simplest calls may be answered here.
    fast_connection: Option<FastConnection>,
}

struct FastConnection {
    connection: Py<PyAny>,
    fast_path: Py<FastPath>,
    /// Bound of all replies to one burst, in bytes.
    room: usize,
}

type Bytes<'py> = Option<Bound<'py, PyBytes>>;
/// Socket with something left, its received bytes, and replies that were not sent.
type Next<'py> = Option<(Descriptor, Bytes<'py>, Bytes<'py>)>;

/// Remainder for Python: received bytes, None if Python is to read itself, and replies that were not sent.
struct Unhandled<'py> {
    received: Bytes<'py>,
    unsent: Bytes<'py>,
}

#[pymethods]
impl SocketQueue {
    #[new]
    #[pyo3(signature = (receive_bytes, quick_seconds, /, *, counts_suspension=false))]
    fn new(receive_bytes: usize, quick_seconds: f64, counts_suspension: bool) -> Self {
        Self {
            queue: FairQueue::default(),
            watched: HashMap::new(),
            most: receive_bytes,
            buffer: None,
            tally: Tally::new(quick_seconds),
            spent: 0.0,
            clock: TurnClock::new(false),
            charged: 0.0,
            counts_suspension,
        }
    }

    #[getter]
    fn charged(&self) -> f64 {
        self.charged
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
        let fast_connection = connection.map(FastConnection::of).transpose()?.flatten();
        self.watched.insert(descriptor, Watched { peer: peer.map(Into::into), fast_connection });
        Ok(())
    }

    #[pyo3(signature = (descriptor, /))]
    #[expect(clippy::wrong_self_convention, reason = "it converts nothing: the socket goes to Python")]
    fn to_python(&mut self, descriptor: Descriptor) {
        if let Some(watched) = self.watched.get_mut(&descriptor) {
            watched.fast_connection = None;
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
        let has_others =
            |(descriptor, events)| self.arrive(descriptor, events == arrived).then_some(descriptor);
        arrivals.into_iter().filter_map(has_others).collect()
    }

    #[cfg(target_os = "linux")]
    #[pyo3(signature = (epoll, host, seconds, slice_seconds, rest, /))]
    fn serve<'py>(
        &mut self,
        py: Python<'py>,
        epoll: Descriptor,
        host: Descriptor,
        seconds: f64,
        slice_seconds: f64,
        rest: Vec<Descriptor>,
    ) -> PyResult<(Vec<Descriptor>, Next<'py>, bool, bool)> {
        let (began, most) = (Instant::now(), Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        let slice = Duration::try_from_secs_f64(slice_seconds).unwrap_or_default();
        let mut has_some = self.queue.waiting() > 0 || !rest.is_empty();
        let mut is_last = has_some;
        let mut ended = Vec::new();
        loop {
            let wait = if is_last { Duration::ZERO } else { most.saturating_sub(began.elapsed()) };
            let arrivals = arrivals(py, epoll, wait)?;
            // A signal ends the wait, because Python handles it.
            let mut is_host_ready = arrivals.is_none();
            for (descriptor, events) in arrivals.unwrap_or_default() {
                if descriptor == host {
                    is_host_ready = true;
                } else if self.arrive(descriptor, events == ARRIVED) {
                    ended.push(descriptor);
                }
            }
            // Partly read sockets queue behind the sockets whose bytes have arrived meanwhile.
            rest.iter().for_each(|descriptor| self.add(*descriptor));
            has_some |= self.queue.waiting() > 0;
            let next = if ended.is_empty() { self.read_next(py, slice) } else { None };
            is_last |= next.is_some() || !ended.is_empty() || is_host_ready;
            if is_last || self.queue.waiting() > 0 || began.elapsed() >= most {
                self.tally.report(py);
                return Ok((ended, next, has_some, is_host_ready));
            }
        }
    }

    #[pyo3(signature = (seconds, took=0.0, more=0.0, /))]
    fn next<'py>(&mut self, py: Python<'py>, seconds: Option<f64>, took: f64, more: f64) -> Next<'py> {
        self.charged = self.spent + self.clock.counted(took) + more;
        self.queue.charge(self.charged);
        self.spent = 0.0;
        let found = self.read_next(py, Duration::try_from_secs_f64(seconds?).unwrap_or_default());
        self.tally.report(py);
        found
    }
}

impl SocketQueue {
    /// Make a socket with an event wait, and return whether it has more than bytes.
    fn arrive(&mut self, descriptor: Descriptor, is_bytes: bool) -> bool {
        if !is_bytes {
            self.to_python(descriptor);
            // Ending a connection takes long. Without its record, the socket waits with the slower ones,
            // behind quick places.
            self.queue.forget(descriptor);
        }
        self.add(descriptor);
        !is_bytes
    }

    /// Read sockets for up to `most` until one has bytes or unsent replies for Python; return its descriptor,
    /// received bytes and unsent replies, None if the time is over or no socket waits.
    fn read_next<'py>(&mut self, py: Python<'py>, most: Duration) -> Next<'py> {
        self.clock = TurnClock::new(self.queue.waiting() > 1 && !self.counts_suspension);
        let mut found = None;
        while self.clock.elapsed() <= most {
            let Some(descriptor) = self.queue.pop() else {
                break;
            };
            let unhandled = self.visit(py, descriptor);
            let spent = self.clock.turn();
            if let Some(Unhandled { received, unsent }) = unhandled {
                self.spent = if received.is_some() { spent } else { 0.0 };
                found = Some((descriptor, received, unsent));
                break;
            }
            self.queue.charge(spent);
        }
        found
    }

    /// Read a socket and answer the simple calls at the start of its bytes. None if nothing is left to
    /// Python.
    fn visit<'py>(&mut self, py: Python<'py>, descriptor: Descriptor) -> Option<Unhandled<'py>> {
        let fast_connection =
            self.watched.get(&descriptor).and_then(|watched| watched.fast_connection.as_ref());
        let (Some(fast_connection), Ok(buffer)) =
            (fast_connection, Buffer::of(py, &mut self.buffer, self.most))
        else {
            return Some(Unhandled { received: None, unsent: None });
        };
        let data = buffer.receive(descriptor)?;
        if data.len() == self.most {
            // The buffer is full, so more bytes may follow. The reader in Python takes note of them.
            return Some(Unhandled {
                received: self.buffer.take().map(|full| full.into_bytes(py)),
                unsent: None,
            });
        }
        let largest = if data.is_empty() { 0 } else { fast_connection.largest(py) };
        if largest == 0 {
            return Some(Unhandled { received: Some(PyBytes::new(py, data)), unsent: None });
        }
        let Ok(mut fast_path) = fast_connection.fast_path.try_borrow_mut(py) else {
            return Some(Unhandled { received: Some(PyBytes::new(py, data)), unsent: None });
        };
        let (began, limits) = (Instant::now(), ReplyLimits { largest, whole: fast_connection.room });
        let cache = fast_path.cache.clone_ref(py);
        let (tally, connection) = (&mut self.tally, &fast_connection.connection);
        let answered = fast_path.answer(py, data, limits, |replies, _| {
            tally.add(py, connection, &cache, &replies, began.elapsed().as_secs_f64());
            // A socket error is ignored here: Python finds and reports it when it sends the remaining bytes.
            let sent = socket::send_now(descriptor, &replies.text).unwrap_or(0);
            unhandled(py, &data[replies.size..], &replies.text[sent..])
        });
        answered.unwrap_or_else(|| Some(Unhandled { received: Some(PyBytes::new(py, data)), unsent: None }))
    }
}

/// Return the events of an epoll, or None if a signal came. The wait for the first one is without the
/// interpreter's lock.
#[cfg(target_os = "linux")]
fn arrivals(py: Python<'_>, epoll: Descriptor, wait: Duration) -> PyResult<Option<Vec<(Descriptor, u32)>>> {
    let look = || socket::waiting_events(epoll, EVENTS_AT_ONCE, wait);
    match if wait.is_zero() { look() } else { py.detach(look) } {
        Ok(events) => Ok(Some(events)),
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Buffer of a Python bytes object, so that long messages are not copied.
struct Buffer {
    bytes: Py<PyBytes>,
    size: usize,
}

impl Buffer {
    /// Return the kept buffer, or a new one.
    fn of<'a>(py: Python<'_>, kept: &'a mut Option<Self>, size: usize) -> PyResult<&'a mut Self> {
        match kept {
            Some(buffer) => Ok(buffer),
            None => Ok(kept.insert(Self::new(py, size)?)),
        }
    }

    fn new(py: Python<'_>, size: usize) -> PyResult<Self> {
        let length = ffi::Py_ssize_t::try_from(size)?;
        // SAFETY: the call creates a bytes object, and no other code has a reference to it before
        // `into_bytes`.
        let bytes = unsafe {
            let made = ffi::PyBytes_FromStringAndSize(std::ptr::null(), length);
            Bound::from_owned_ptr_or_err(py, made)?.cast_into_unchecked()
        };
        Ok(Self { bytes: bytes.unbind(), size })
    }

    /// Return the bytes that have arrived at a socket, read to the buffer's beginning, or None.
    fn receive(&mut self, descriptor: Descriptor) -> Option<&[u8]> {
        // SAFETY: the buffer is `self.size` bytes long, and only the bytes that `receive_now` has initialised are read.
        unsafe {
            let begin = ffi::PyBytes_AsString(self.bytes.as_ptr());
            let size = socket::receive_now(descriptor, slice::from_raw_parts_mut(begin.cast(), self.size))?;
            Some(slice::from_raw_parts(begin.cast(), size))
        }
    }

    /// Return the bytes object once all of it has been written.
    fn into_bytes(self, py: Python<'_>) -> Bound<'_, PyBytes> {
        self.bytes.into_bound(py)
    }
}

/// Return the unanswered requests and the unsent replies for Python, each None if it is empty; None if both
/// are.
fn unhandled<'py>(py: Python<'py>, received: &[u8], unsent: &[u8]) -> Option<Unhandled<'py>> {
    let bytes = |part: &[u8]| (!part.is_empty()).then(|| PyBytes::new(py, part));
    let unhandled = Unhandled { received: bytes(received), unsent: bytes(unsent) };
    (unhandled.received.is_some() || unhandled.unsent.is_some()).then_some(unhandled)
}

impl FastConnection {
    /// Return the connection with its fast path, or None if it has none.
    fn of(connection: Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let fast_path: Option<Py<FastPath>> = connection.getattr("fast_path")?.extract()?;
        let Some(fast_path) = fast_path else {
            return Ok(None);
        };
        let room = connection.getattr("burst_bytes")?.extract()?;
        Ok(Some(Self { connection: connection.unbind(), fast_path, room }))
    }

    /// Return the longest reply in bytes that may be sent after the received bytes; 0 for none.
    fn largest(&self, py: Python<'_>) -> usize {
        let largest = self.connection.call_method0(py, intern!(py, "fast_reply_limit"));
        largest.and_then(|largest| largest.extract(py)).unwrap_or_else(|error: PyErr| {
            // The received bytes must not be lost with the error, so 0 leaves them to Python.
            error.write_unraisable(py, Some(self.connection.bind(py)));
            0
        })
    }
}

#[pyfunction]
#[pyo3(signature = (descriptor, data, /))]
fn send_now(descriptor: Descriptor, data: &[u8]) -> PyResult<usize> {
    Ok(socket::send_now(descriptor, data)?)
}

#[pyfunction]
#[pyo3(signature = (epoll, most=EVENTS_AT_ONCE, /))]
fn waiting_events(epoll: Descriptor, most: usize) -> PyResult<Vec<(Descriptor, u32)>> {
    Ok(socket::waiting_events(epoll, most, Duration::ZERO)?)
}

register! {
    classes: SocketQueue;
    functions: send_now, waiting_events;
}
