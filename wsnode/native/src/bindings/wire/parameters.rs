//! Decoded parameters with many entries.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

/// Return whether each name and value in a mapping is 32 bytes in lower-case hex, as most storage is written.
#[pyfunction]
#[pyo3(signature = (mapping, /))]
fn are_hashes(mapping: &Bound<'_, PyDict>) -> bool {
    mapping.iter().all(|(name, value)| is_hash(&name) && is_hash(&value))
}

fn is_hash(value: &Bound<'_, PyAny>) -> bool {
    let Ok(digits) = value.cast::<PyString>().map(|text| text.to_str().unwrap_or_default()) else {
        return false;
    };
    digits.len() == 66
        && digits.starts_with("0x")
        && digits.bytes().skip(2).all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(are_hashes, module)?)
}
