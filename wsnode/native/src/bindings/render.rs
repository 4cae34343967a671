//! JSON from rows, as Python functions.

use pyo3::prelude::*;

/// Adds the rendering functions to the module.
pub fn register(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
