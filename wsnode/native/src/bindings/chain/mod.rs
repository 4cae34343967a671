//! Rows of blocks: read, rendered as JSON, and looked up.

mod header;
mod logs;
mod lookup;
mod readers;
pub mod render;
mod row;

use pyo3::prelude::*;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    header::register(module)?;
    logs::register(module)?;
    lookup::register(module)?;
    readers::register(module)?;
    render::register(module)
}
