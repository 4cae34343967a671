//! Chains, their state, and the blocks and messages that run on it.

mod blocks;
pub mod building;
mod decoding;
mod live;
pub mod messages;
mod parity;
mod pool;
mod proofs;
mod signing;
mod simulate;
pub mod spec;
pub mod state;
mod state_verification;
mod tracing;
mod witness;

use alloy_eips::eip4844::DATA_GAS_PER_BLOB;
use pyo3::prelude::*;

use super::errors;
use crate::evm::call::install_crypto;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    install_crypto();
    module.add("GAS_PER_BLOB", DATA_GAS_PER_BLOB)?;
    errors::register(module)?;
    blocks::register(module)?;
    building::register(module)?;
    decoding::register(module)?;
    state_verification::register(module)?;
    live::register(module)?;
    messages::register(module)?;
    parity::register(module)?;
    pool::register(module)?;
    signing::register(module)?;
    simulate::register(module)?;
    spec::register(module)?;
    state::register(module)?;
    tracing::register(module)?;
    witness::register(module)
}
