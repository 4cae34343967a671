//! The gas that a transaction needs before its first instruction.

use alloy_consensus::{Transaction, TxEnvelope};
use revm::context_interface::cfg::gas::{calculate_initial_tx_gas, InitialAndFloorGas};
use revm::primitives::hardfork::SpecId;

use super::refuse;
use crate::error::Error;

/// Gas of a transaction is at most this since Osaka (EIP-7825).
const LARGEST_GAS: u64 = 1 << 24;

pub fn check_cap(envelope: &TxEnvelope, rules: SpecId) -> Result<(), Error> {
    let gas = envelope.gas_limit();
    if rules.is_enabled_in(SpecId::OSAKA) && gas > LARGEST_GAS {
        let words = "transaction gas limit too high";
        return Err(refuse("gas_cap", format!("{words} (cap: {LARGEST_GAS}, tx: {gas})")));
    }
    Ok(())
}

/// Check that the gas covers what the transaction costs by its form, and since Prague the floor of its input.
pub fn check_needed(envelope: &TxEnvelope, rules: SpecId) -> Result<(), Error> {
    let needed = needed(envelope, rules);
    demand(envelope, "intrinsic_gas", "intrinsic gas too low", needed.initial_regular_gas)?;
    demand(envelope, "floor_gas", "insufficient gas for floor data gas cost", needed.floor_gas)
}

fn demand(envelope: &TxEnvelope, kind: &'static str, words: &str, needed: u64) -> Result<(), Error> {
    let gas = envelope.gas_limit();
    if gas < needed {
        return Err(refuse(kind, format!("{words}: gas {gas}, minimum needed {needed}")));
    }
    Ok(())
}

fn needed(envelope: &TxEnvelope, rules: SpecId) -> InitialAndFloorGas {
    let (accounts, slots) = envelope.access_list().map_or((0, 0), |list| {
        (list.len() as u64, list.iter().map(|item| item.storage_keys.len() as u64).sum())
    });
    let authorizations = envelope.authorization_list().map_or(0, |list| list.len() as u64);
    calculate_initial_tx_gas(
        rules,
        envelope.input(),
        envelope.is_create(),
        accounts,
        slots,
        authorizations,
        None,
    )
}
