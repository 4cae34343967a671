//! `ChainSpec`.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::blocks::VerifiedBlock;
use crate::bindings::errors::guard;
use crate::evm::block;
use crate::evm::chain_spec;

/// The rules of one chain, from geth's genesis.json.
#[pyclass(frozen, module = "wsnode._native.evm")]
pub struct ChainSpec(pub Arc<chain_spec::ChainSpec>);

#[pymethods]
impl ChainSpec {
    #[new]
    fn new(genesis: &[u8]) -> PyResult<Self> {
        guard(|| chain_spec::ChainSpec::from_json(genesis)).map(|spec| Self(Arc::new(spec)))
    }

    /// The id of the blocks to come.
    #[getter]
    fn chain_id(&self) -> u64 {
        self.0.chain_id()
    }

    /// Set which ids follow the genesis's: pairs of the first block and the id, ascending.
    fn set_chain_ids(&self, changes: Vec<(u64, u64)>) {
        self.0.set_chain_ids(changes);
    }

    #[getter]
    fn genesis_hash<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.genesis_hash().as_slice())
    }

    /// The first block.
    fn genesis_block(&self) -> VerifiedBlock {
        VerifiedBlock(Arc::new(block::genesis(&self.0)))
    }

    /// The name of the newest fork active at a block.
    fn fork_name(&self, number: u64, timestamp: u64) -> &'static str {
        self.0.fork_name(number, timestamp)
    }

    /// Target, maximum and fee update fraction of the blobs in force, or nothing before blobs.
    fn blob_parameters(&self, timestamp: u64) -> Option<(u64, u64, u128)> {
        let parameters = self.0.blob_parameters(timestamp)?;
        Some((parameters.target_blob_count, parameters.max_blob_count, parameters.update_fraction))
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ChainSpec>()
}
