//! Blocks from RLP, from rows and from JSON.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::blocks::{exception, UnverifiedBlock};
use super::spec::ChainSpec;
use crate::bindings::errors::guard;
use crate::evm::block;

/// The blocks before the first malformed one, and its error; senders are recovered on all cores.
#[pyfunction]
fn decode_blocks(
    py: Python<'_>,
    spec: &ChainSpec,
    encoded: Vec<PyBackedBytes>,
) -> PyResult<(Vec<UnverifiedBlock>, Option<Py<PyAny>>)> {
    let decode = || {
        let slices: Vec<&[u8]> = encoded.iter().map(AsRef::as_ref).collect();
        guard(|| Ok(block::decode_blocks(&spec.0, &slices)))
    };
    let (blocks, malformed) = py.detach(decode)?;
    let blocks = blocks.into_iter().map(|block| UnverifiedBlock(Arc::new(block))).collect();
    Ok((blocks, malformed.map(|invalid| exception(py, &invalid))))
}

/// A block from its stored rows.
#[pyfunction]
fn block_from_rows(spec: &ChainSpec, header: &[u8], body: &[u8]) -> PyResult<UnverifiedBlock> {
    guard(|| block::from_rows(&spec.0, header, body)).map(|block| UnverifiedBlock(Arc::new(block)))
}

/// The RLP of a block from another node's JSON.
#[pyfunction]
fn encode_told_block<'py>(
    py: Python<'py>,
    block: PyBackedBytes,
    ommers: Vec<PyBackedBytes>,
) -> PyResult<Bound<'py, PyBytes>> {
    let encode = || {
        let slices: Vec<&[u8]> = ommers.iter().map(AsRef::as_ref).collect();
        guard(|| block::encode_told(&block, &slices))
    };
    py.detach(encode).map(|encoded| PyBytes::new(py, &encoded))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(decode_blocks, module)?)?;
    module.add_function(wrap_pyfunction!(block_from_rows, module)?)?;
    module.add_function(wrap_pyfunction!(encode_told_block, module)?)
}
