//! Rows of blocks: read, rendered as JSON, and looked up.

mod append;
pub mod criteria;
pub mod header;
pub mod lookup;
mod readers;
pub mod render;
mod row;

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::errors::CorruptRowError;
use crate::chain::tables;
use crate::state;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("TABLES", PyTuple::new(module.py(), [&tables::NAMES[..], &state::NAMES].concat())?)?;
    module.add("CorruptRowError", module.py().get_type::<CorruptRowError>())?;
    criteria::register(module)?;
    append::register(module)?;
    header::register(module)?;
    lookup::register(module)?;
    readers::register(module)?;
    render::register(module)
}
