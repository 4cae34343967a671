//! Rows of blocks: read, rendered as JSON, and looked up.

mod append;
pub mod criteria;
pub mod header;
mod logs;
pub mod lookup;
mod readers;
pub mod render;
mod row;

use pyo3::prelude::*;

use super::errors::CorruptRowError;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("CorruptRowError", module.py().get_type::<CorruptRowError>())?;
    criteria::register(module)?;
    append::register(module)?;
    header::register(module)?;
    logs::register(module)?;
    lookup::register(module)?;
    readers::register(module)?;
    render::register(module)
}
