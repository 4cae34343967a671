//! Messages of a connection, and replies from their text alone.

mod call_text;
mod fast_path;
mod native_methods;
mod parameters;
mod requests;
mod sockets;
mod tally;
mod versioned_cache;

use pyo3::prelude::*;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    native_methods::register(module)?;
    call_text::register(module)?;
    versioned_cache::register(module)?;
    fast_path::register(module)?;
    parameters::register(module)?;
    sockets::register(module)?;
    requests::register(module)
}
