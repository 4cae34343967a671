//! Gas that a transaction needs before its first instruction.

use alloy_consensus::{Transaction, TxEnvelope};
use alloy_eips::eip7825::MAX_TX_GAS_LIMIT_OSAKA;
use alloy_primitives::{Address, TxKind};
use revm::context_interface::cfg::gas::{calculate_initial_tx_gas, InitialAndFloorGas};
use revm::context_interface::cfg::gas_params::Eip2780TxInfo;
use revm::primitives::hardfork::SpecId;

use super::refuse;
use crate::error::Error;
use crate::evm::rules::MAXIMUM_TRANSACTION_GAS;

/// Check a transaction's gas limit against its cap: Osaka's for execution (EIP-7825), Amsterdam's for
/// execution and state together.
pub fn check_cap(envelope: &TxEnvelope, rules: SpecId) -> Result<(), Error> {
    let gas = envelope.gas_limit();
    let cap = match () {
        () if rules.is_enabled_in(SpecId::AMSTERDAM) => MAXIMUM_TRANSACTION_GAS,
        () if rules.is_enabled_in(SpecId::OSAKA) => MAX_TX_GAS_LIMIT_OSAKA,
        () => return Ok(()),
    };
    if gas > cap {
        let words = "transaction gas limit too high";
        return Err(refuse("gas_cap", format!("{words} (cap: {cap}, tx: {gas})")));
    }
    Ok(())
}

/// Check that the gas limit covers the intrinsic gas and, since Prague, the floor of the input (EIP-7623).
pub fn check_needed(envelope: &TxEnvelope, sender: Address, rules: SpecId) -> Result<(), Error> {
    let needed = needed(envelope, sender, rules);
    require_gas(envelope, "intrinsic_gas", "intrinsic gas too low", needed.initial_regular_gas)?;
    require_gas(envelope, "floor_gas", "insufficient gas for floor data gas cost", needed.floor_gas)?;
    if rules.is_enabled_in(SpecId::AMSTERDAM) {
        // The cap bounds the execution part alone (EIP-8037). revm checks the cap when it runs the
        // transaction.
        let least = needed.initial_regular_gas.max(needed.floor_gas);
        if least > MAX_TX_GAS_LIMIT_OSAKA {
            let words = "transaction gas limit too high";
            return Err(refuse("gas_cap", format!("{words} (cap: {MAX_TX_GAS_LIMIT_OSAKA}, tx: {least})")));
        }
    }
    Ok(())
}

fn require_gas(envelope: &TxEnvelope, kind: &'static str, words: &str, needed: u64) -> Result<(), Error> {
    let gas = envelope.gas_limit();
    if gas < needed {
        return Err(refuse(kind, format!("{words}: gas {gas}, minimum needed {needed}")));
    }
    Ok(())
}

fn needed(envelope: &TxEnvelope, sender: Address, rules: SpecId) -> InitialAndFloorGas {
    let (accounts, slots) = envelope.access_list().map_or((0, 0), |list| {
        (list.len() as u64, list.iter().map(|item| item.storage_keys.len() as u64).sum())
    });
    let authorizations = envelope.authorization_list().map_or(0, |list| list.len() as u64);
    let transfer =
        Eip2780TxInfo { value: envelope.value(), is_self_transfer: envelope.kind() == TxKind::Call(sender) };
    calculate_initial_tx_gas(
        rules,
        envelope.input(),
        envelope.is_create(),
        accounts,
        slots,
        authorizations,
        rules.is_enabled_in(SpecId::AMSTERDAM).then_some(transfer),
    )
}
