//! Fees that a transaction offers for gas.

use alloy_consensus::{Transaction, TxEnvelope};

use super::refuse;
use crate::error::Error;

/// Check that the tip is not above the whole fee.
pub fn check_order(envelope: &TxEnvelope) -> Result<(), Error> {
    if envelope.max_fee_per_gas() < tip(envelope) {
        return Err(refuse("tip_above_fee", "max priority fee per gas higher than max fee per gas"));
    }
    Ok(())
}

/// Check that the tip is at least the pool's minimum, in wei per gas.
pub fn check_tip(envelope: &TxEnvelope, minimum: u128) -> Result<(), Error> {
    check_minimum("gas tip cap", tip(envelope), minimum)
}

/// Check that the blob fee is at least 1 wei, the lowest price of blob gas.
pub fn check_blob_fee(envelope: &TxEnvelope) -> Result<(), Error> {
    check_minimum("blob fee cap", envelope.max_fee_per_blob_gas().unwrap_or(1), 1)
}

fn tip(envelope: &TxEnvelope) -> u128 {
    envelope.max_priority_fee_per_gas().unwrap_or_else(|| envelope.max_fee_per_gas())
}

fn check_minimum(name: &str, offered: u128, minimum: u128) -> Result<(), Error> {
    if offered < minimum {
        let words = "transaction gas price below minimum";
        return Err(refuse("underpriced", format!("{words}: {name} {offered}, minimum needed {minimum}")));
    }
    Ok(())
}
