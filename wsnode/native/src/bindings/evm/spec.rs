//! `ChainSpec`.

use std::sync::Arc;

use alloy_eips::eip4844::DATA_GAS_PER_BLOB;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::blocks::VerifiedBlock;
use crate::bindings::chain::header::Header;
use crate::bindings::errors::guard;
use crate::bindings::numbers::Number;
use crate::evm::block;
use crate::evm::chain_spec;
use crate::evm::rules;

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

    /// The id of the blocks with a number.
    fn chain_id_at(&self, number: u64) -> u64 {
        self.0.chain_id_at(number)
    }

    /// Set which ids follow the genesis's: pairs of the first block and the id, ascending.
    fn set_chain_ids(&self, changes: Vec<(u64, u64)>) {
        self.0.set_chain_ids(changes);
    }

    #[getter]
    fn genesis_hash<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.genesis_hash().as_slice())
    }

    /// Whether the accounts of the genesis state are known, and not its root alone.
    #[getter]
    fn is_allotted(&self) -> bool {
        self.0.genesis().is_allotted
    }

    /// The total difficulty from which on blocks are those of proof of stake, or nothing.
    #[getter]
    fn terminal_total_difficulty(&self) -> Option<Number> {
        self.0.terminal_total_difficulty().map(Number)
    }

    /// The first block.
    fn genesis_block(&self) -> PyResult<VerifiedBlock> {
        guard(|| block::genesis(&self.0)).map(|first| VerifiedBlock(Arc::new(first)))
    }

    /// The first block's number; not 0 where that is another chain's block.
    #[getter]
    fn first_number(&self) -> u64 {
        self.0.genesis().header.number
    }

    /// Whether the state after the first block is known by proofs alone.
    #[getter]
    fn begins_elsewhere(&self) -> bool {
        self.0.genesis().elsewhere.is_some()
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

    /// The blob gas that the blobs of a block may use together.
    fn blob_gas_limit(&self, timestamp: u64) -> u64 {
        self.0.blob_parameters(timestamp).map_or(0, |parameters| parameters.max_blob_gas_per_block())
    }

    /// The base fee of the block after `parent`, in wei a gas.
    #[pyo3(signature = (parent, /))]
    fn next_base_fee(&self, parent: &Header) -> Option<u64> {
        rules::next_base_fee(&self.0, &parent.fee_members())
    }

    /// The price of blob gas after `parent` if its own blob parameters hold on, in wei a blob gas.
    #[pyo3(signature = (parent, /))]
    fn next_blob_base_fee(&self, parent: &Header) -> Option<u128> {
        rules::next_blob_base_fee(&self.0, &parent.fee_members())
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("GAS_PER_BLOB", DATA_GAS_PER_BLOB)?;
    module.add_class::<ChainSpec>()
}
