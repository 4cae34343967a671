//! `BlockAttributes`, `BuiltBlock`, and the Keccak-256 hash.

use std::sync::Arc;

use alloy_eips::eip4895::Withdrawal;
use alloy_eips::BlockNumHash;
use alloy_primitives::{Address, Bytes};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyTuple};

use super::blocks::{exception, UnverifiedBlock, VerifiedBlock};
use super::spec::ChainSpec;
use crate::bindings::errors::{guard, inline_or_detached};
use crate::bindings::numbers::{address, hash};
use crate::engine::{verified_with_receipts, Rows};
use crate::error::Error;
use crate::evm::build::{self, Base, Candidate, Refused};
use crate::state::StateAfter;

/// Attributes of a new block that its proposer chooses.
#[pyclass(frozen, module = "wsnode._native.evm")]
pub struct BlockAttributes(pub build::BlockAttributes);

type WithdrawalTuple = (u64, u64, Vec<u8>, u64);

#[pymethods]
impl BlockAttributes {
    #[new]
    #[pyo3(signature = (
        *, timestamp, fee_recipient, prev_randao, gas_limit, parent_beacon_block_root, base_fee=None, extra_data=None,
        withdrawals=None, slot_number=None, may_lack_requests=false
    ))]
    #[expect(clippy::too_many_arguments, reason = "a block has as many members")]
    fn new(
        timestamp: u64,
        fee_recipient: &[u8],
        prev_randao: &[u8],
        gas_limit: u64,
        parent_beacon_block_root: &[u8],
        base_fee: Option<u64>,
        extra_data: Option<&[u8]>,
        withdrawals: Option<Vec<WithdrawalTuple>>,
        slot_number: Option<u64>,
        may_lack_requests: bool,
    ) -> PyResult<Self> {
        Ok(Self(build::BlockAttributes {
            timestamp,
            fee_recipient: address("fee_recipient", fee_recipient)?,
            prev_randao: hash("prev_randao", prev_randao)?,
            gas_limit,
            base_fee,
            parent_beacon_block_root: hash("parent_beacon_block_root", parent_beacon_block_root)?,
            extra_data: extra_data.map(Bytes::copy_from_slice).unwrap_or_default(),
            withdrawals: withdrawals.unwrap_or_default().iter().map(withdrawal).collect::<PyResult<_>>()?,
            slot_number,
            may_lack_requests,
        }))
    }
}

fn withdrawal((index, validator_index, recipient, amount): &WithdrawalTuple) -> PyResult<Withdrawal> {
    let address = address("withdrawal address", recipient)?;
    Ok(Withdrawal { index: *index, validator_index: *validator_index, address, amount: *amount })
}

/// Executed block that is not committed, and the state after it.
#[pyclass(frozen, extends = VerifiedBlock, module = "wsnode._native.evm")]
pub struct BuiltBlock(pub Arc<build::BuiltBlock>);

impl BuiltBlock {
    pub fn new(built: build::BuiltBlock) -> PyClassInitializer<Self> {
        PyClassInitializer::from(VerifiedBlock(built.block.clone())).add_subclass(Self(Arc::new(built)))
    }
}

#[pymethods]
impl BuiltBlock {
    #[getter]
    fn requests<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        self.0.requests.iter().map(|request| PyBytes::new(py, request)).collect()
    }

    #[getter]
    fn failed_calls(&self) -> Vec<String> {
        self.0.failed_calls.clone()
    }

    #[pyo3(signature = (parent))]
    fn rebased(&self, py: Python<'_>, parent: Option<PyRef<'_, Self>>) -> PyResult<Py<Self>> {
        Py::new(py, Self::new(self.0.rebased(parent.map(|parent| parent.0.clone()))))
    }

    #[getter]
    fn size(&self) -> usize {
        self.0.size()
    }
}

#[pyfunction]
#[pyo3(signature = (spec, block, receipts, access_list=None))]
fn verify_with_receipts(
    py: Python<'_>,
    spec: &ChainSpec,
    block: PyRef<'_, UnverifiedBlock>,
    receipts: PyBackedBytes,
    access_list: Option<PyBackedBytes>,
) -> PyResult<Py<PyAny>> {
    let (spec, block) = (spec.0.clone(), block.0.clone());
    let list = access_list.as_deref();
    match py.detach(|| guard(|| Ok(verified_with_receipts(&spec, &block, &receipts, list))))? {
        Ok(built) => Ok(Py::new(py, BuiltBlock::new(built))?.into_any()),
        Err(invalid) => Ok(exception(py, &invalid)),
    }
}

/// Block after which state is read: number and hash of a committed one, or a built one.
pub enum StateBlock {
    Committed(BlockNumHash),
    Built(Arc<build::BuiltBlock>),
}

impl StateBlock {
    pub fn parent(self) -> build::Parent {
        match self {
            Self::Committed(block) => build::Parent::Committed(block),
            Self::Built(built) => build::Parent::Built(built),
        }
    }

    pub fn state(&self) -> StateAfter<'_> {
        match self {
            Self::Committed(block) => (*block).into(),
            Self::Built(built) => built.state(),
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for StateBlock {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        // The tuple is tried first: nearly all objects are tuples, and a failed cast to `BuiltBlock` takes
        // longer.
        let Ok(committed) = object.cast::<PyTuple>() else {
            return Ok(Self::Built(object.cast::<BuiltBlock>()?.get().0.clone()));
        };
        let (number, hash): (u64, Bound<'_, PyBytes>) = committed.extract()?;
        Ok(Self::Committed(BlockNumHash { number, hash: self::hash("block hash", hash.as_bytes())? }))
    }
}

/// Block in which a message runs: the header row of a committed one, or a built one.
pub enum CallBase {
    Row(PyBackedBytes),
    Built(Arc<build::BuiltBlock>),
}

impl CallBase {
    pub fn base(&self) -> Base<'_> {
        match self {
            Self::Row(row) => Base::Row(row),
            Self::Built(built) => Base::Built(built),
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for CallBase {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyBytes>() {
            return Ok(Self::Row(object.extract()?));
        }
        Ok(Self::Built(object.cast::<BuiltBlock>()?.get().0.clone()))
    }
}

/// Header row and body row of a block.
pub type RowPair = (PyBackedBytes, PyBackedBytes);

pub fn rows(pairs: &[RowPair]) -> Vec<Rows<'_>> {
    pairs.iter().map(|(header, body)| (header.as_ref(), body.as_ref())).collect()
}

/// Return the built block and the refused transactions. `build` runs without the interpreter's lock.
pub fn built(
    py: Python<'_>,
    transactions: &[PyBackedBytes],
    senders: Option<Vec<Option<PyBackedBytes>>>,
    build: impl FnOnce(&[Candidate<'_>]) -> Result<(build::BuiltBlock, Vec<Refused>), Error> + Send,
) -> PyResult<(Py<BuiltBlock>, Vec<Refused>)> {
    let senders = impersonated(senders, transactions.len())?;
    let (block, refused) = inline_or_detached(py, false, || {
        let candidate = |(encoded, impersonated)| Candidate { encoded, impersonated };
        let encoded = transactions.iter().map(AsRef::as_ref);
        let candidates: Vec<_> = encoded.zip(senders).map(candidate).collect();
        build(&candidates)
    })?;
    Ok((Py::new(py, BuiltBlock::new(block))?, refused))
}

/// Return the impersonated sender of each of `count` transactions, or None for a signed one.
fn impersonated(senders: Option<Vec<Option<PyBackedBytes>>>, count: usize) -> PyResult<Vec<Option<Address>>> {
    let Some(senders) = senders else {
        return Ok(vec![None; count]);
    };
    if senders.len() != count {
        return Err(PyValueError::new_err(format!("{} senders for {count} transactions", senders.len())));
    }
    let read = |sender: Option<PyBackedBytes>| sender.map(|name| address("sender", &name)).transpose();
    senders.into_iter().map(read).collect()
}

#[pyfunction]
fn keccak256<'py>(py: Python<'py>, content: &[u8]) -> Bound<'py, PyBytes> {
    PyBytes::new(py, alloy_primitives::keccak256(content).as_slice())
}

register! {
    classes: BlockAttributes, BuiltBlock;
    functions: verify_with_receipts, keccak256;
}
