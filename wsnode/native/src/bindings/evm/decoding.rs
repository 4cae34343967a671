//! Blocks from RLP, from rows, from JSON and from payloads.

use std::sync::Arc;

use alloy_primitives::Bytes;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::blocks::{exception, UnverifiedBlock};
use super::spec::ChainSpec;
use crate::bindings::errors::guard;
use crate::bindings::numbers::hash;
use crate::evm::chain_spec::Family;
use crate::evm::environment::arbos;
use crate::evm::{block, dump};

#[pyfunction]
#[pyo3(signature = (spec, encoded, *, with_unsigned=false))]
fn decode_blocks(
    py: Python<'_>,
    spec: &ChainSpec,
    encoded: Vec<PyBackedBytes>,
    with_unsigned: bool,
) -> PyResult<(Vec<UnverifiedBlock>, Option<Py<PyAny>>)> {
    let unsigned =
        if with_unsigned { block::UnsignedPolicy::Accepted } else { block::UnsignedPolicy::Refused };
    let decode = || {
        let slices: Vec<&[u8]> = encoded.iter().map(AsRef::as_ref).collect();
        guard(|| Ok(block::decode_blocks(&spec.0, &slices, unsigned)))
    };
    let (blocks, malformed) = py.detach(decode)?;
    let blocks = blocks.into_iter().map(|block| UnverifiedBlock(Arc::new(block))).collect();
    Ok((blocks, malformed.map(|invalid| exception(py, &invalid))))
}

#[pyfunction]
fn block_from_rows(spec: &ChainSpec, header: &[u8], body: &[u8]) -> PyResult<UnverifiedBlock> {
    guard(|| block::from_rows(&spec.0, header, body)).map(|block| UnverifiedBlock(Arc::new(block)))
}

#[pyfunction]
fn encode_json_block<'py>(
    py: Python<'py>,
    block: PyBackedBytes,
    ommers: Vec<PyBackedBytes>,
) -> PyResult<Bound<'py, PyBytes>> {
    let encode = || {
        let slices: Vec<&[u8]> = ommers.iter().map(AsRef::as_ref).collect();
        guard(|| block::encode_json_block(&block, &slices))
    };
    py.detach(encode).map(|encoded| PyBytes::new(py, &encoded))
}

#[pyfunction]
fn encode_json_receipts(py: Python<'_>, receipts: PyBackedBytes) -> PyResult<Bound<'_, PyBytes>> {
    let encode = || guard(|| block::encode_json_receipts(&receipts));
    py.detach(encode).map(|row| PyBytes::new(py, &row))
}

#[pyfunction]
#[pyo3(signature = (block, receipts, family="ethereum"))]
fn encode_proved_receipts<'py>(
    py: Python<'py>,
    block: PyBackedBytes,
    receipts: PyBackedBytes,
    family: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let family = Family::of_name(family).ok_or_else(|| PyValueError::new_err("no family has this name"))?;
    let row = py.detach(|| guard(|| block::encode_proved_receipts(&block, &receipts, family)))?;
    Ok(PyBytes::new(py, &row))
}

#[pyfunction]
fn read_json_header<'py>(
    py: Python<'py>,
    block: &[u8],
) -> PyResult<(u64, Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
    let header = guard(|| block::read_json_header(block))?;
    let (hash, parent) = (header.hash_slow(), header.parent_hash);
    Ok((header.number, PyBytes::new(py, hash.as_slice()), PyBytes::new(py, parent.as_slice())))
}

#[pyfunction]
fn arbos_fork(block: &[u8]) -> PyResult<&'static str> {
    Ok(arbos::fork_name(&guard(|| block::read_json_header(block))?))
}

/// Account of a dump: address, nonce, balance and code in hex, slots as JSON text.
type Dumped<'py> = (Bound<'py, PyBytes>, u64, String, String, Bound<'py, PyBytes>);

#[pyfunction]
fn read_dump(py: Python<'_>, text: PyBackedBytes) -> PyResult<Vec<Dumped<'_>>> {
    let read = || {
        let accounts = dump::read_dump(&text)?;
        // The texts of the slots are made here, without the interpreter's lock, because together they are as
        // long as the dump.
        Ok(accounts.into_iter().map(|(address, account)| (address, account.storage(), account)).collect())
    };
    let accounts: Vec<_> = py.detach(|| guard(|| Ok(read())))?.map_err(PyValueError::new_err::<String>)?;
    let dumped = accounts.into_iter().map(|(address, storage, account)| {
        let (address, storage) = (PyBytes::new(py, address.as_slice()), PyBytes::new(py, storage.as_bytes()));
        (address, account.nonce, account.balance(), account.code(), storage)
    });
    Ok(dumped.collect())
}

/// Payload of the Engine API whose JSON has the right form; nothing else is verified.
#[pyclass(frozen, module = "wsnode._native.evm")]
pub struct Payload(block::Payload);

#[pymethods]
impl Payload {
    #[new]
    fn new(py: Python<'_>, text: &[u8]) -> PyResult<Self> {
        let read = py.detach(|| guard(|| Ok(block::Payload::read(text))))?;
        read.map(Self).map_err(PyValueError::new_err)
    }

    #[getter]
    fn version(&self) -> u8 {
        self.0.version as u8
    }

    #[getter]
    fn number(&self) -> u64 {
        self.0.number()
    }

    #[getter]
    fn timestamp(&self) -> u64 {
        self.0.timestamp()
    }

    #[getter]
    fn block_hash<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.block_hash().as_slice())
    }

    #[getter]
    fn parent_hash<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.parent_hash().as_slice())
    }

    #[pyo3(signature = (spec, *, parent_beacon_block_root=None, requests=None))]
    fn block(
        &self,
        py: Python<'_>,
        spec: &ChainSpec,
        parent_beacon_block_root: Option<&[u8]>,
        requests: Option<Vec<PyBackedBytes>>,
    ) -> PyResult<Py<PyAny>> {
        let parent_beacon_block_root =
            parent_beacon_block_root.map(|root| hash("parent_beacon_block_root", root)).transpose()?;
        let requests = requests.map(|list| list.iter().map(|each| Bytes::copy_from_slice(each)).collect());
        let beside = block::Beside { parent_beacon_block_root, requests };
        match py.detach(|| guard(|| Ok(self.0.block(&spec.0, beside))))? {
            Ok(block) => Ok(Py::new(py, UnverifiedBlock(Arc::new(block)))?.into_any()),
            Err(invalid) => Ok(exception(py, &invalid)),
        }
    }
}

register! {
    classes: Payload;
    functions: decode_blocks, block_from_rows, read_dump, encode_proved_receipts, read_json_header,
        arbos_fork, encode_json_block, encode_json_receipts;
}
