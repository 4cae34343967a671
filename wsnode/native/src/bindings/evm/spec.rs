//! `ChainSpec`.

use std::sync::Arc;

use alloy_eips::eip4844::DATA_GAS_PER_BLOB;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::blocks::{UnverifiedBlock, VerifiedBlock};
use crate::bindings::chain::header::Header;
use crate::bindings::errors::guard;
use crate::bindings::numbers::Number;
use crate::evm::block;
use crate::evm::chain_spec::{self, Presence, FORKS};
use crate::evm::rules;

/// Rules of one chain, from geth's genesis.json.
#[pyclass(frozen, module = "wsnode._native.evm")]
pub struct ChainSpec(pub Arc<chain_spec::ChainSpec>);

#[pymethods]
impl ChainSpec {
    #[new]
    fn new(genesis: &[u8]) -> PyResult<Self> {
        guard(|| chain_spec::ChainSpec::from_json(genesis)).map(|spec| Self(Arc::new(spec)))
    }

    /// Return the chain id of the next block.
    #[getter]
    fn chain_id(&self) -> u64 {
        self.0.chain_id()
    }

    /// Return the chain id at a block number.
    fn chain_id_at(&self, number: u64) -> u64 {
        self.0.chain_id_at(number)
    }

    /// Return the key in genesis.json and the name of the fork whose members a header has too early, or None.
    fn unscheduled_fork(&self, block: &UnverifiedBlock) -> Option<(&'static str, &'static str)> {
        rules::unscheduled_fork(&self.0, &block.0.header).map(|row| (row.key, row.name))
    }

    /// Set the chain ids after the genesis's: pairs of the first block and the id, ascending.
    fn set_chain_ids(&self, changes: Vec<(u64, u64)>) {
        self.0.set_chain_ids(changes);
    }

    #[getter]
    fn genesis_hash<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.genesis_hash().as_slice())
    }

    /// Return whether the genesis header is known, and not at most its hash.
    #[getter]
    fn has_genesis_header(&self) -> bool {
        self.0.genesis().has_header
    }

    /// Return the family whose encodings transactions and receipts have.
    #[getter]
    fn family(&self) -> &'static str {
        self.0.family().name()
    }

    /// Return whether ArbOS executes some accounts of the state. The engine cannot execute them.
    #[getter]
    fn has_arbos(&self) -> bool {
        self.0.has_arbos()
    }

    /// Return whether blocks are sealed by authorities, with any difficulty.
    #[getter]
    fn is_sealed_by_authority(&self) -> bool {
        self.0.is_sealed_by_authority()
    }

    /// Return whether the accounts of the genesis state are known, and not only their root.
    #[getter]
    fn is_allotted(&self) -> bool {
        self.0.genesis().is_allotted
    }

    /// Return the total difficulty at which proof of stake begins, or None.
    #[getter]
    fn terminal_total_difficulty(&self) -> Option<Number> {
        self.0.terminal_total_difficulty().map(Number)
    }

    /// Return the genesis block.
    fn genesis_block(&self) -> PyResult<VerifiedBlock> {
        guard(|| block::genesis(&self.0)).map(|first| VerifiedBlock(Arc::new(first)))
    }

    /// Return the first block's number. It is not 0 if the block comes from another chain.
    #[getter]
    fn first_number(&self) -> u64 {
        self.0.genesis().header.number
    }

    /// Return whether the state after the first block is known by proofs alone.
    #[getter]
    fn begins_elsewhere(&self) -> bool {
        self.0.genesis().elsewhere.is_some()
    }

    /// Return the name of the newest fork that is active at a block.
    fn fork_name(&self, number: u64, timestamp: u64) -> &'static str {
        self.0.fork_name(number, timestamp)
    }

    /// Return the generation of the Engine API's structures for a block after the merge; 1 is Paris.
    fn engine_generation(&self, timestamp: u64) -> u8 {
        let active = self.0.active_forks(u64::MAX, timestamp);
        active.iter().map(|row| row.engine).max().unwrap_or(0).max(1)
    }

    /// Return the forks that the chain schedules, each as its row and its activation: a block number, or a
    /// time in seconds.
    fn scheduled_forks(&self) -> Vec<(ForkRow, u64)> {
        let begin = |row: &'static chain_spec::ForkRow| Some((ForkRow(row), self.0.activation(row.fork)?));
        FORKS.iter().filter_map(begin).collect()
    }

    /// Return target and maximum in blobs, and the fee update fraction, or None before blobs.
    fn blob_parameters(&self, timestamp: u64) -> Option<(u64, u64, u128)> {
        let parameters = self.0.blob_parameters(timestamp)?;
        Some((parameters.target_blob_count, parameters.max_blob_count, parameters.update_fraction))
    }

    /// Return the highest blob gas of a block.
    fn blob_gas_limit(&self, timestamp: u64) -> u64 {
        self.0.blob_parameters(timestamp).map_or(0, |parameters| parameters.max_blob_gas_per_block())
    }

    /// Return the base fee of the block after `parent` in wei per gas, or None before London.
    #[pyo3(signature = (parent, /))]
    fn next_base_fee(&self, parent: &Header) -> Option<u64> {
        rules::next_base_fee(&self.0, &parent.fee_members())
    }

    /// Return the price of blob gas after `parent` by the parent's blob parameters, in wei per blob gas, or
    /// None before blobs.
    #[pyo3(signature = (parent, /))]
    fn next_blob_base_fee(&self, parent: &Header) -> Option<u128> {
        rules::next_blob_base_fee(&self.0, &parent.fee_members())
    }
}

/// Row of the table of forks.
#[pyclass(frozen, module = "wsnode._native.evm")]
pub struct ForkRow(&'static chain_spec::ForkRow);

#[pymethods]
impl ForkRow {
    /// Return its key in geth's genesis.json.
    #[getter]
    fn key(&self) -> &'static str {
        self.0.key
    }

    #[getter]
    fn name(&self) -> &'static str {
        self.0.name
    }

    /// Return true if a time activates the fork, false if a block number does.
    #[getter]
    fn is_by_time(&self) -> bool {
        self.0.is_by_time()
    }

    /// Return true if the fork sets blob parameters and nothing else.
    #[getter]
    fn is_blobs_only(&self) -> bool {
        self.0.presence == Presence::BlobsOnly
    }

    /// Return the contracts that the protocol calls or reads from the fork on: names in `eth_config`, and
    /// addresses.
    #[getter]
    fn contracts(&self) -> Vec<(&'static str, String)> {
        self.0.contracts.iter().map(|(name, address, _)| (*name, format!("{address:#x}"))).collect()
    }

    /// Return the addresses and codes of these contracts.
    #[getter]
    fn contract_codes(&self) -> Vec<(String, String)> {
        let written = |address, code| (format!("{address:#x}"), format!("{code:#x}"));
        self.0.contracts.iter().map(|(_, address, code)| written(address, code)).collect()
    }

    /// Return the precompiled contracts from the fork on: names in `eth_config`, and addresses as numbers.
    #[getter]
    fn precompiles(&self) -> Vec<(&'static str, u16)> {
        self.0.precompiles.to_vec()
    }

    /// Return the number of members in a header whose newest fork this is.
    #[getter]
    fn header_members(&self) -> usize {
        self.0.header_members()
    }
}

/// Return the rows of all forks but Frontier, the oldest first.
#[pyfunction]
fn fork_table() -> Vec<ForkRow> {
    FORKS.iter().map(ForkRow).collect()
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("GAS_PER_BLOB", DATA_GAS_PER_BLOB)?;
    module.add_function(wrap_pyfunction!(fork_table, module)?)?;
    module.add_class::<ForkRow>()?;
    module.add_class::<ChainSpec>()
}
