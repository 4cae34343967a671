//! Header of a row, as an object.

use alloy_consensus as consensus;
use alloy_primitives::U256;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt};

use super::render::corrupt;
use crate::chain::rows::{HeaderRow, RowError};

register! {
    classes: Header;
    functions: header_fields;
}

/// Members of a header that Python uses.
#[pyclass(frozen, module = "wsnode._native.chain")]
pub struct Header {
    #[pyo3(get)]
    number: u64,
    #[pyo3(get)]
    timestamp: u64,
    #[pyo3(get)]
    gas_limit: u64,
    #[pyo3(get)]
    gas_used: u64,
    #[pyo3(get)]
    base_fee: Option<u64>,
    #[pyo3(get)]
    blob_gas_used: Option<u64>,
    #[pyo3(get)]
    excess_blob_gas: Option<u64>,
    #[pyo3(get)]
    blob_base_fee: Option<u128>,
    #[pyo3(get)]
    slot_number: Option<u64>,
    block_access_list_hash: Option<[u8; 32]>,
    hash: [u8; 32],
    parent_hash: [u8; 32],
    state_root: [u8; 32],
    beneficiary: [u8; 20],
    difficulty: U256,
}

impl Header {
    fn new(row: &HeaderRow<'_>) -> Result<Self, RowError> {
        let fields = row.fields()?;
        Ok(Self {
            number: fields.number,
            timestamp: fields.timestamp,
            gas_limit: fields.gas_limit,
            gas_used: fields.gas_used,
            base_fee: fields.base_fee,
            blob_gas_used: fields.blob_gas_used,
            excess_blob_gas: fields.excess_blob_gas,
            blob_base_fee: row.blob_base_fee(),
            slot_number: fields.slot_number,
            block_access_list_hash: fields.block_access_list_hash.map(|hash| hash.0),
            hash: row.hash().0,
            parent_hash: fields.parent_hash.0,
            state_root: fields.state_root.0,
            beneficiary: fields.beneficiary.0 .0,
            difficulty: U256::try_from_be_slice(fields.difficulty)
                .ok_or(RowError::Corrupt("difficulty above 256 bits"))?,
        })
    }

    /// Return the members from which the next block's fees follow. The others are not set.
    pub fn fee_members(&self) -> consensus::Header {
        consensus::Header {
            number: self.number,
            timestamp: self.timestamp,
            gas_limit: self.gas_limit,
            gas_used: self.gas_used,
            base_fee_per_gas: self.base_fee,
            blob_gas_used: self.blob_gas_used,
            excess_blob_gas: self.excess_blob_gas,
            ..<_>::default()
        }
    }
}

#[pymethods]
impl Header {
    #[getter]
    fn hash<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.hash)
    }

    #[getter]
    fn parent_hash<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.parent_hash)
    }

    #[getter]
    fn state_root<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.state_root)
    }

    #[getter]
    fn block_access_list_hash<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.block_access_list_hash.map(|hash| PyBytes::new(py, &hash))
    }

    #[getter]
    fn beneficiary<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.beneficiary)
    }

    #[getter]
    fn difficulty<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(value) = u64::try_from(self.difficulty) {
            return Ok(value.into_pyobject(py)?.into_any());
        }
        let bytes = PyBytes::new(py, &self.difficulty.to_be_bytes::<32>());
        py.get_type::<PyInt>().call_method1("from_bytes", (bytes, "big"))
    }
}

#[pyfunction]
fn header_fields(header: &[u8]) -> PyResult<Header> {
    HeaderRow::new(header).and_then(|row| Header::new(&row)).map_err(corrupt)
}
