//! `ChainSpec`.

use std::sync::Arc;

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

    #[getter]
    fn chain_id(&self) -> u64 {
        self.0.chain_id()
    }

    fn chain_id_at(&self, number: u64) -> u64 {
        self.0.chain_id_at(number)
    }

    fn unscheduled_fork(&self, block: &UnverifiedBlock) -> Option<(&'static str, &'static str)> {
        rules::unscheduled_fork(&self.0, &block.0.header).map(|row| (row.key, row.name))
    }

    fn set_chain_ids(&self, changes: Vec<(u64, u64)>) {
        self.0.set_chain_ids(changes);
    }

    #[getter]
    fn genesis_hash<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.genesis_hash().as_slice())
    }

    #[getter]
    fn has_genesis_header(&self) -> bool {
        self.0.genesis().has_header
    }

    #[getter]
    fn family(&self) -> &'static str {
        self.0.family().name()
    }

    #[getter]
    fn has_arbos(&self) -> bool {
        self.0.has_arbos()
    }

    #[getter]
    fn is_sealed_by_authority(&self) -> bool {
        self.0.is_sealed_by_authority()
    }

    #[getter]
    fn is_allotted(&self) -> bool {
        self.0.genesis().is_allotted
    }

    #[getter]
    fn terminal_total_difficulty(&self) -> Option<Number> {
        self.0.terminal_total_difficulty().map(Number)
    }

    fn genesis_block(&self) -> PyResult<VerifiedBlock> {
        guard(|| block::genesis(&self.0)).map(|first| VerifiedBlock(Arc::new(first)))
    }

    #[getter]
    fn first_number(&self) -> u64 {
        self.0.genesis().header.number
    }

    #[getter]
    fn begins_elsewhere(&self) -> bool {
        self.0.genesis().elsewhere.is_some()
    }

    fn fork_name(&self, number: u64, timestamp: u64) -> &'static str {
        self.0.fork_name(number, timestamp)
    }

    fn engine_generation(&self, timestamp: u64) -> u8 {
        let active = self.0.active_forks(u64::MAX, timestamp);
        active.iter().map(|row| row.engine).max().unwrap_or(0).max(1)
    }

    fn scheduled_forks(&self) -> Vec<(ForkRow, u64)> {
        let begin = |row: &'static chain_spec::ForkRow| Some((ForkRow(row), self.0.activation(row.fork)?));
        FORKS.iter().filter_map(begin).collect()
    }

    fn blob_parameters(&self, timestamp: u64) -> Option<(u64, u64, u128)> {
        let parameters = self.0.blob_parameters(timestamp)?;
        Some((parameters.target_blob_count, parameters.max_blob_count, parameters.update_fraction))
    }

    fn blob_gas_limit(&self, timestamp: u64) -> u64 {
        self.0.blob_parameters(timestamp).map_or(0, |parameters| parameters.max_blob_gas_per_block())
    }

    #[pyo3(signature = (parent, /))]
    fn next_base_fee(&self, parent: &Header) -> Option<u64> {
        rules::next_base_fee(&self.0, &parent.fee_members())
    }

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
    #[getter]
    fn key(&self) -> &'static str {
        self.0.key
    }

    #[getter]
    fn name(&self) -> &'static str {
        self.0.name
    }

    #[getter]
    fn is_by_time(&self) -> bool {
        self.0.is_by_time()
    }

    #[getter]
    fn is_blobs_only(&self) -> bool {
        self.0.presence == Presence::BlobsOnly
    }

    #[getter]
    fn contracts(&self) -> Vec<(&'static str, String)> {
        self.0.contracts.iter().map(|(name, address, _)| (*name, format!("{address:#x}"))).collect()
    }

    #[getter]
    fn contract_codes(&self) -> Vec<(String, String)> {
        let written = |address, code| (format!("{address:#x}"), format!("{code:#x}"));
        self.0.contracts.iter().map(|(_, address, code)| written(address, code)).collect()
    }

    #[getter]
    fn precompiles(&self) -> Vec<(&'static str, u16)> {
        self.0.precompiles.to_vec()
    }

    #[getter]
    fn header_members(&self) -> usize {
        self.0.header_members()
    }
}

#[pyfunction]
fn fork_table() -> Vec<ForkRow> {
    FORKS.iter().map(ForkRow).collect()
}

register! {
    classes: ForkRow, ChainSpec;
    functions: fork_table;
}
