//! Numbers and bytes of fixed length between Python and Rust.

use alloy_primitives::{Address, B256, U256};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt};

/// Python int from 0 to 2^256 - 1.
pub struct Number(pub U256);

impl<'py> FromPyObject<'_, 'py> for Number {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(number) = object.extract::<u64>() {
            return Ok(Self(U256::from(number)));
        }
        let bytes = object.call_method1("to_bytes", (32, "big"))?;
        U256::try_from_be_slice(bytes.cast::<PyBytes>()?.as_bytes())
            .map(Self)
            .ok_or_else(|| PyOverflowError::new_err("number above 2**256 - 1"))
    }
}

impl<'py> IntoPyObject<'py> for Number {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        if let Ok(small) = u64::try_from(self.0) {
            return Ok(small.into_pyobject(py)?.into_any());
        }
        let bytes = PyBytes::new(py, &self.0.to_be_bytes::<32>());
        py.get_type::<PyInt>().call_method1("from_bytes", (bytes, "big"))
    }
}

/// Return the 32 bytes of a hash or a slot, or a ValueError about `name` for another length.
pub fn hash(name: &str, bytes: &[u8]) -> PyResult<B256> {
    B256::try_from(bytes).map_err(|_| wrong_length(name, bytes, 32))
}

/// Return the 20 bytes of an address, or a ValueError about `name` for another length.
pub fn address(name: &str, bytes: &[u8]) -> PyResult<Address> {
    Address::try_from(bytes).map_err(|_| wrong_length(name, bytes, 20))
}

fn wrong_length(name: &str, bytes: &[u8], wanted: usize) -> PyErr {
    PyValueError::new_err(format!("{name} has {} bytes, expected {wanted}", bytes.len()))
}
