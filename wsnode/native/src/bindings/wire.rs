//! Frames to messages, and replies to frames.

use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::wire::frame::{write_head, Whole};
use crate::wire::request::Envelope;

/// Append to `messages` those that begin at `position`, one after another, and return where the last one ends.
///
/// They end at whatever is no whole message of at most `limit` bytes, or a text that is not UTF-8.
#[pyfunction]
#[pyo3(signature = (data, position, limit, messages, /))]
fn take_messages(
    data: &Bound<'_, PyBytes>,
    position: usize,
    limit: usize,
    messages: &Bound<'_, PyList>,
) -> PyResult<usize> {
    let (py, data) = (data.py(), data.as_bytes());
    let mut position = position;
    while let Some(whole) = data.get(position..).and_then(|rest| Whole::read(rest, limit)) {
        let message = PyBytes::new_with(py, whole.message_size(), |target| {
            whole.unmask(target);
            Ok(())
        })?;
        if whole.is_text && std::str::from_utf8(message.as_bytes()).is_err() {
            break;
        }
        messages.append(message)?;
        position += whole.size;
    }
    Ok(position)
}

type Request<'py> = (Bound<'py, PyString>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// Method, parameters and id of a request as they were sent; nothing if any part of it is unusual.
#[pyfunction]
#[pyo3(signature = (text, /))]
fn read_request<'py>(py: Python<'py>, text: &[u8]) -> Option<Request<'py>> {
    Envelope::read(text).map(|envelope| request(py, &envelope))
}

/// The same of each request in a batch of at most so many.
#[pyfunction]
#[pyo3(signature = (text, most, /))]
fn read_batch<'py>(py: Python<'py>, text: &[u8], most: usize) -> Option<Vec<Request<'py>>> {
    let envelopes = Envelope::read_batch(text).filter(|envelopes| envelopes.len() <= most)?;
    Some(envelopes.iter().map(|envelope| request(py, envelope)).collect())
}

fn request<'py>(py: Python<'py>, envelope: &Envelope<'_>) -> Request<'py> {
    let bytes = |text| PyBytes::new(py, text);
    (PyString::new(py, envelope.method), bytes(envelope.params), bytes(envelope.identity))
}

/// Answer the messages from `start` on that ask for one of the `known` methods without parameters, by its result.
///
/// Returns the replies as text frames, and how many there are for each method. They end at whatever asks for something
/// else or in another form, at a reply longer than `largest`, and behind the one that makes them longer than `room`.
#[pyfunction]
#[pyo3(signature = (messages, start, known, largest, room, /))]
fn repeat_replies<'py>(
    messages: &Bound<'py, PyList>,
    start: usize,
    known: &Bound<'py, PyDict>,
    largest: usize,
    room: usize,
) -> PyResult<(Bound<'py, PyBytes>, Vec<usize>)> {
    const OPENING: &[u8] = br#"{"jsonrpc":"2.0","id":"#;
    const MIDDLE: &[u8] = br#","result":"#;
    let known: Vec<(PyBackedStr, PyBackedBytes)> = known
        .iter()
        .map(|(name, result)| Ok((name.extract()?, result.extract()?)))
        .collect::<PyResult<_>>()?;
    let (mut frames, mut counts, mut size) = (Vec::new(), vec![0; known.len()], 0);
    for message in messages.iter().skip(start) {
        let text = message.cast::<PyBytes>()?.as_bytes();
        let Some(call) = Envelope::read(text).filter(|call| size <= room && call.is_bare()) else {
            break;
        };
        let Some(index) = known.iter().position(|(name, _)| **name == *call.method) else {
            break;
        };
        let result: &[u8] = &known[index].1;
        let length = OPENING.len() + call.identity.len() + MIDDLE.len() + result.len() + 1;
        if length > largest {
            break;
        }
        write_head(&mut frames, length);
        for part in [OPENING, call.identity, MIDDLE, result, b"}"] {
            frames.extend_from_slice(part);
        }
        size += length;
        counts[index] += 1;
    }
    Ok((PyBytes::new(messages.py(), &frames), counts))
}

/// Add this module's names.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(take_messages, module)?)?;
    module.add_function(wrap_pyfunction!(read_request, module)?)?;
    module.add_function(wrap_pyfunction!(read_batch, module)?)?;
    module.add_function(wrap_pyfunction!(repeat_replies, module)?)
}
