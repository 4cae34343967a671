//! Open files, passed by Python as descriptors.

use std::fs::File;
use std::os::fd::BorrowedFd;

use pyo3::exceptions::PyValueError;
use pyo3::PyResult;

/// Return a duplicate of the open file with the descriptor `number`. The caller closes the descriptor itself.
pub fn duplicate(number: i32) -> PyResult<File> {
    if number < 0 {
        return Err(PyValueError::new_err("there is no such descriptor"));
    }
    // SAFETY: it is borrowed for one system call, which fails if it is closed.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    Ok(File::from(borrowed.try_clone_to_owned()?))
}
