//! What comes over a connection and what is answered from the text alone.

mod answers;
mod plain_call;
mod plain_reads;
mod requests;

use pyo3::prelude::*;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    answers::register(module)?;
    plain_call::register(module)?;
    plain_reads::register(module)?;
    requests::register(module)
}
