//! Frames to messages, and messages to requests.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use crate::wire::frame::Whole;
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

/// Add this module's names.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(take_messages, module)?)?;
    module.add_function(wrap_pyfunction!(read_request, module)?)?;
    module.add_function(wrap_pyfunction!(read_batch, module)?)
}
