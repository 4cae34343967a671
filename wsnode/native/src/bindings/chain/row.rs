//! Row of the store as an argument.

use std::ops::Deref;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Bytes, or a view of the store's pages. Copying a row costs more than rendering a part of it.
pub enum Row<'a> {
    Bytes(&'a [u8]),
    View(PyBuffer<u8>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Row<'a> {
    type Error = PyErr;

    fn extract(row: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if row.is_instance_of::<PyBytes>() {
            return Ok(Self::Bytes(<&'a [u8]>::extract(row)?));
        }
        let view = PyBuffer::get(&row)?;
        if !view.readonly() || !view.is_c_contiguous() {
            return Err(PyBufferError::new_err("a row is bytes or a view of what nobody writes to"));
        }
        Ok(Self::View(view))
    }
}

impl Deref for Row<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            // SAFETY: `view` keeps a contiguous buffer of `len_bytes` bytes alive. Python cannot write to it,
            // and the pages of a snapshot do not change.
            Self::View(view) => unsafe {
                std::slice::from_raw_parts(view.buf_ptr().cast::<u8>(), view.len_bytes())
            },
        }
    }
}
