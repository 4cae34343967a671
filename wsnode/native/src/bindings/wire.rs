//! Frames to messages, and replies to frames.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::wire::frame::{write_head, Whole};
use crate::wire::request::Bare;

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

/// Answer the messages from `start` on that ask for `method` without parameters, all with `result`.
///
/// Returns the replies as text frames, and how many they are. They end at whatever asks for something else or in
/// another form, at a reply longer than `largest`, and behind the one that makes them longer than `room`.
#[pyfunction]
#[pyo3(signature = (messages, start, method, result, largest, room, /))]
fn repeat_replies<'py>(
    messages: &Bound<'py, PyList>,
    start: usize,
    method: &str,
    result: &[u8],
    largest: usize,
    room: usize,
) -> PyResult<(Bound<'py, PyBytes>, usize)> {
    const OPENING: &[u8] = br#"{"jsonrpc":"2.0","id":"#;
    const MIDDLE: &[u8] = br#","result":"#;
    let (mut frames, mut count, mut size) = (Vec::new(), 0, 0);
    while size <= room && start + count < messages.len() {
        let message = messages.get_item(start + count)?;
        let text = message.cast::<PyBytes>()?.as_bytes();
        let Some(bare) = Bare::read(text).filter(|bare| bare.method == method.as_bytes()) else {
            break;
        };
        let length = OPENING.len() + bare.identity.len() + MIDDLE.len() + result.len() + 1;
        if length > largest {
            break;
        }
        write_head(&mut frames, length);
        for part in [OPENING, bare.identity, MIDDLE, result, b"}"] {
            frames.extend_from_slice(part);
        }
        size += length;
        count += 1;
    }
    Ok((PyBytes::new(messages.py(), &frames), count))
}

/// Add this module's names.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(take_messages, module)?)?;
    module.add_function(wrap_pyfunction!(repeat_replies, module)?)
}
