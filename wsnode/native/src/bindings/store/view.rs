//! View of a value at its place in the file's map.

use std::ffi::c_int;

use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use crate::store::Pin;

/// Buffer of bytes in the map, which stays in its place as long as the buffer exists.
#[pyclass(frozen, module = "wsnode._native.store")]
pub struct View {
    start: *const u8,
    size: ffi::Py_ssize_t,
    _pin: Pin,
}

// SAFETY: the bytes are only read, and `_pin` keeps them in the map until the last reference to the view is
// dropped.
unsafe impl Send for View {}
// SAFETY: the bytes are only read, and `_pin` keeps them in the map.
unsafe impl Sync for View {}

impl View {
    /// Return a memoryview of `size` bytes from `start` on, in the map kept in place by `pin`.
    pub fn of(py: Python<'_>, start: *const u8, size: usize, pin: Pin) -> PyResult<Bound<'_, PyAny>> {
        let size = size.try_into().map_err(|_| PyMemoryError::new_err("a value is too long"))?;
        let view = Bound::new(py, Self { start, size, _pin: pin })?;
        Ok(PyMemoryView::from(view.as_any())?.into_any())
    }
}

#[pymethods]
impl View {
    // SAFETY: Python passes a valid `Py_buffer` to be filled.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, buffer: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let view = slf.get();
        // SAFETY: the bytes exist as long as `slf`, to which the buffer gets a reference, and the buffer is
        // read-only.
        let filled = unsafe {
            ffi::PyBuffer_FillInfo(buffer, slf.as_ptr(), view.start.cast_mut().cast(), view.size, 1, flags)
        };
        if filled < 0 {
            return Err(PyErr::fetch(slf.py()));
        }
        Ok(())
    }
}
