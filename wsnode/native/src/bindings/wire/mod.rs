//! What comes over a connection and what is answered from the text alone.

mod answers;
mod call_text;
mod lasting;
mod parameters;
mod requests;
mod sockets;
mod tally;
mod text_reads;

use pyo3::prelude::*;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    answers::register(module)?;
    call_text::register(module)?;
    lasting::register(module)?;
    parameters::register(module)?;
    sockets::register(module)?;
    text_reads::register(module)?;
    requests::register(module)
}
