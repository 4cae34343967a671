//! Frames to messages, and messages to requests.

use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyString};

use crate::wire::frame::{self, pong_size, Whole};
use crate::wire::json_walk;
use crate::wire::request::RequestParts;

/// Length in bytes of a text that takes about a quarter of a millisecond to read.
const LONG: usize = 256 * 1024;

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
        // SAFETY: the code below only creates bytes objects and appends them to a list. It keeps the
        // interpreter's lock, so nothing changes the array.
        Err(_) => unsafe { data.cast::<PyByteArray>()?.as_bytes() },
    };
    let mut position = position;
    while let Some(rest) = data.get(position..) {
        // A pong is a sign of life and needs no answer (RFC 6455, section 5.5.3).
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

#[pyfunction]
#[pyo3(signature = (text, most=None, /))]
fn read_request<'py>(py: Python<'py>, text: &[u8], most: Option<usize>) -> Option<RequestTuple<'py>> {
    let most = most.unwrap_or(usize::MAX);
    detach_if_long(py, text, || RequestParts::read_short(text, most)).map(|parts| request(py, &parts))
}

#[pyfunction]
#[pyo3(signature = (text, most, /))]
fn read_batch<'py>(py: Python<'py>, text: &[u8], most: usize) -> Option<Vec<RequestTuple<'py>>> {
    let requests = detach_if_long(py, text, || RequestParts::read_batch(text, most))?;
    Some(requests.iter().map(|parts| request(py, parts)).collect())
}

fn request<'py>(py: Python<'py>, parts: &RequestParts<'_>) -> RequestTuple<'py> {
    let bytes = |text| PyBytes::new(py, text);
    (PyString::new(py, parts.method), bytes(parts.params), bytes(parts.identity))
}

#[pyfunction]
#[pyo3(signature = (text, most, /))]
fn first_items<'py>(py: Python<'py>, text: &[u8], most: usize) -> Vec<Bound<'py, PyBytes>> {
    let ranges = detach_if_long(py, text, || json_walk::items(text, most));
    ranges.into_iter().map(|range| PyBytes::new(py, &text[range])).collect()
}

#[pyfunction]
#[pyo3(signature = (text, /))]
fn find_fault(py: Python<'_>, text: &[u8]) -> Option<String> {
    detach_if_long(py, text, || json_walk::fault(text))
}

#[pyfunction]
#[pyo3(signature = (text, /))]
fn outline<'py>(py: Python<'py>, text: &[u8]) -> Option<(Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>)> {
    let (outline, params) = detach_if_long(py, text, || json_walk::outline(text))?;
    Some((PyBytes::new(py, &outline), params.map(|range| PyBytes::new(py, &text[range]))))
}

#[pyfunction]
#[pyo3(signature = (text, /))]
fn find_identity<'py>(py: Python<'py>, text: &[u8]) -> Option<Bound<'py, PyBytes>> {
    let range = detach_if_long(py, text, || json_walk::identity(text))?;
    Some(PyBytes::new(py, &text[range]))
}

#[pyfunction]
#[pyo3(signature = (text, /))]
fn count_values(py: Python<'_>, text: &[u8]) -> usize {
    detach_if_long(py, text, || json_walk::count_values(text))
}

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

register! {
    functions: take_messages, unmask, read_request, read_batch, first_items, find_fault, outline,
        find_identity, count_values, replace_lone_surrogates;
}
