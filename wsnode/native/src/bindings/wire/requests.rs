//! Frames to messages, and messages to requests.

use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyString};

use crate::wire::frame::{self, pong_size, Whole};
use crate::wire::json_walk;
use crate::wire::request::Envelope;

/// Length in bytes of a text that takes about a quarter of a millisecond to read.
const LONG: usize = 256 * 1024;

/// Append the messages at `position`, one after another, to `messages`, and return the end of the last one.
///
/// They end at anything but a whole message of at most `limit` bytes, and at a text that is not UTF-8. Whole
/// pongs are skipped.
#[pyfunction]
#[pyo3(signature = (data, position, limit, messages, /))]
fn take_messages(
    data: &Bound<'_, PyAny>,
    position: usize,
    limit: usize,
    messages: &Bound<'_, PyList>,
) -> PyResult<usize> {
    let py = data.py();
    let data = match data.cast::<PyBytes>() {
        Ok(bytes) => bytes.as_bytes(),
        // SAFETY: below only bytes are created and appended to a list, and the lock is kept: nothing changes the array.
        Err(_) => unsafe { data.cast::<PyByteArray>()?.as_bytes() },
    };
    let mut position = position;
    while let Some(rest) = data.get(position..) {
        // A sign of life, of which nothing else follows (RFC 6455, section 5.5.3).
        if let Some(size) = pong_size(rest) {
            position += size;
            continue;
        }
        let Some(whole) = Whole::read(rest, limit) else {
            break;
        };
        let message = PyBytes::new_with(py, whole.message_size(), |target| {
            whole.unmask(target);
            Ok(())
        })?;
        if whole.is_text && simdutf8::basic::from_utf8(message.as_bytes()).is_err() {
            break;
        }
        messages.append(message)?;
        position += whole.size;
    }
    Ok(position)
}

/// Return a part of a frame's payload without its mask. The part begins `offset` bytes into the payload.
#[pyfunction]
#[pyo3(signature = (masked, mask, offset, /))]
fn unmask<'py>(
    py: Python<'py>,
    masked: &[u8],
    mask: [u8; 4],
    offset: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut mask = mask;
    mask.rotate_left(offset % 4);
    PyBytes::new_with(py, masked.len(), |target| {
        frame::unmask(masked, mask, target);
        Ok(())
    })
}

type RequestTuple<'py> = (Bound<'py, PyString>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// Return method, parameters and id of a request as text. None if any part of it is unusual, or it has more
/// than `most` values.
#[pyfunction]
#[pyo3(signature = (text, most=None, /))]
fn read_request<'py>(py: Python<'py>, text: &[u8], most: Option<usize>) -> Option<RequestTuple<'py>> {
    let most = most.unwrap_or(usize::MAX);
    detach_if_long(py, text, || Envelope::read_short(text, most)).map(|envelope| request(py, &envelope))
}

/// Return the parts of each request in a batch of at most `most`, or None if one is unusual.
#[pyfunction]
#[pyo3(signature = (text, most, /))]
fn read_batch<'py>(py: Python<'py>, text: &[u8], most: usize) -> Option<Vec<RequestTuple<'py>>> {
    let envelopes = detach_if_long(py, text, || Envelope::read_batch(text, most))?;
    Some(envelopes.iter().map(|envelope| request(py, envelope)).collect())
}

fn request<'py>(py: Python<'py>, envelope: &Envelope<'_>) -> RequestTuple<'py> {
    let bytes = |text| PyBytes::new(py, text);
    (PyString::new(py, envelope.method), bytes(envelope.params), bytes(envelope.identity))
}

/// Return the texts of the first items of a JSON array, at most `most`; none for other JSON.
#[pyfunction]
#[pyo3(signature = (text, most, /))]
fn first_items<'py>(py: Python<'py>, text: &[u8], most: usize) -> Vec<Bound<'py, PyBytes>> {
    let ranges = detach_if_long(py, text, || json_walk::items(text, most));
    ranges.into_iter().map(|range| PyBytes::new(py, &text[range])).collect()
}

/// Return the fault of a text that is no JSON, or nested too deeply, or None.
#[pyfunction]
#[pyo3(signature = (text, /))]
fn find_fault(py: Python<'_>, text: &[u8]) -> Option<String> {
    detach_if_long(py, text, || json_walk::fault(text))
}

/// Return a JSON object with 0 for all values but those of `jsonrpc`, `method` and `id`, and the text of its
/// last parameters. None for other JSON.
#[pyfunction]
#[pyo3(signature = (text, /))]
fn outline<'py>(py: Python<'py>, text: &[u8]) -> Option<(Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>)> {
    let (outline, params) = detach_if_long(py, text, || json_walk::outline(text))?;
    Some((PyBytes::new(py, &outline), params.map(|range| PyBytes::new(py, &text[range]))))
}

/// Return the last id of a JSON object as text, or None without one.
#[pyfunction]
#[pyo3(signature = (text, /))]
fn find_identity<'py>(py: Python<'py>, text: &[u8]) -> Option<Bound<'py, PyBytes>> {
    let range = detach_if_long(py, text, || json_walk::identity(text))?;
    Some(PyBytes::new(py, &text[range]))
}

/// Return an upper bound of the number of values in a JSON text: hardly more than twice the number.
#[pyfunction]
#[pyo3(signature = (text, /))]
fn count_values(py: Python<'_>, text: &[u8]) -> usize {
    detach_if_long(py, text, || json_walk::count_values(text))
}

/// Return a text of the same length with `\ufffd` for each escape of half a character, or None if there is
/// none.
#[pyfunction]
#[pyo3(signature = (text, /))]
fn replace_lone_surrogates<'py>(py: Python<'py>, text: &[u8]) -> Option<Bound<'py, PyBytes>> {
    let repaired = detach_if_long(py, text, || json_walk::without_lone_surrogates(text))?;
    Some(PyBytes::new(py, &repaired))
}

/// Return the result of `read` for a text. Other threads run while a long one is parsed.
fn detach_if_long<T: Send>(py: Python<'_>, text: &[u8], read: impl FnOnce() -> T + Send) -> T {
    if text.len() < LONG {
        read()
    } else {
        py.detach(read)
    }
}

/// Add this module's names.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(take_messages, module)?)?;
    module.add_function(wrap_pyfunction!(unmask, module)?)?;
    module.add_function(wrap_pyfunction!(read_request, module)?)?;
    module.add_function(wrap_pyfunction!(read_batch, module)?)?;
    module.add_function(wrap_pyfunction!(first_items, module)?)?;
    module.add_function(wrap_pyfunction!(find_fault, module)?)?;
    module.add_function(wrap_pyfunction!(outline, module)?)?;
    module.add_function(wrap_pyfunction!(find_identity, module)?)?;
    module.add_function(wrap_pyfunction!(count_values, module)?)?;
    module.add_function(wrap_pyfunction!(replace_lone_surrogates, module)?)
}
