//! `BlockAttributes` and hashing.

use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::Bytes;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::numbers::{address, hash};
use crate::build;

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

/// The Keccak-256 hash.
#[pyfunction]
fn keccak256<'py>(py: Python<'py>, content: &[u8]) -> Bound<'py, PyBytes> {
    PyBytes::new(py, alloy_primitives::keccak256(content).as_slice())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<BlockAttributes>()?;
    module.add_function(wrap_pyfunction!(keccak256, module)?)
}
