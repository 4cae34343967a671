//! `BlockAttributes`, signing, hashing.

use alloy_consensus::TxEip1559;
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Bytes, TxKind};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::errors::guard;
use super::numbers::{address, hash, Number};
use crate::{build, sign};

/// What whoever proposes a block decides about it.
#[pyclass(frozen, module = "wsnode._native")]
pub struct BlockAttributes(pub build::BlockAttributes);

type WithdrawalTuple = (u64, u64, Vec<u8>, u64);

#[pymethods]
impl BlockAttributes {
    /// Withdrawals are tuples of index, validator index, address, and amount in gwei.
    #[new]
    #[pyo3(signature = (
        *, timestamp, fee_recipient, prev_randao, gas_limit, parent_beacon_block_root, extra_data=None, withdrawals=None
    ))]
    fn new(
        timestamp: u64,
        fee_recipient: &[u8],
        prev_randao: &[u8],
        gas_limit: u64,
        parent_beacon_block_root: &[u8],
        extra_data: Option<&[u8]>,
        withdrawals: Option<Vec<WithdrawalTuple>>,
    ) -> PyResult<Self> {
        Ok(Self(build::BlockAttributes {
            timestamp,
            fee_recipient: address("fee_recipient", fee_recipient)?,
            prev_randao: hash("prev_randao", prev_randao)?,
            gas_limit,
            parent_beacon_block_root: hash("parent_beacon_block_root", parent_beacon_block_root)?,
            extra_data: extra_data.map(Bytes::copy_from_slice).unwrap_or_default(),
            withdrawals: withdrawals.unwrap_or_default().iter().map(withdrawal).collect::<PyResult<_>>()?,
        }))
    }
}

fn withdrawal((index, validator_index, recipient, amount): &WithdrawalTuple) -> PyResult<Withdrawal> {
    let address = address("withdrawal address", recipient)?;
    Ok(Withdrawal { index: *index, validator_index: *validator_index, address, amount: *amount })
}

/// A signed transaction of type 2.
#[pyfunction]
#[pyo3(signature = (secret, *, chain_id, nonce, to, value, input, gas, max_fee, max_priority_fee))]
#[expect(clippy::too_many_arguments, reason = "a transaction has as many members")]
fn sign_transaction<'py>(
    py: Python<'py>,
    secret: &[u8],
    chain_id: u64,
    nonce: u64,
    to: Option<&[u8]>,
    value: Number,
    input: &[u8],
    gas: u64,
    max_fee: u128,
    max_priority_fee: u128,
) -> PyResult<Bound<'py, PyBytes>> {
    let transaction = TxEip1559 {
        chain_id,
        nonce,
        gas_limit: gas,
        max_fee_per_gas: max_fee,
        max_priority_fee_per_gas: max_priority_fee,
        to: to.map_or(Ok(TxKind::Create), |to| address("to", to).map(TxKind::Call))?,
        value: value.0,
        input: Bytes::copy_from_slice(input),
        ..TxEip1559::default()
    };
    let secret = hash("secret", secret)?;
    guard(|| sign::sign(secret, transaction)).map(|bytes| PyBytes::new(py, &bytes))
}

/// The address that belongs to a secret.
#[pyfunction]
fn address_of<'py>(py: Python<'py>, secret: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let secret = hash("secret", secret)?;
    guard(|| sign::address_of(secret)).map(|found| PyBytes::new(py, found.as_slice()))
}

/// The Keccak-256 hash.
#[pyfunction]
fn keccak256<'py>(py: Python<'py>, content: &[u8]) -> Bound<'py, PyBytes> {
    PyBytes::new(py, alloy_primitives::keccak256(content).as_slice())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<BlockAttributes>()?;
    module.add_function(wrap_pyfunction!(sign_transaction, module)?)?;
    module.add_function(wrap_pyfunction!(address_of, module)?)?;
    module.add_function(wrap_pyfunction!(keccak256, module)?)
}
