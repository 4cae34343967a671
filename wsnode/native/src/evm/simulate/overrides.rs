//! State overrides of a simulated block, account by account as geth applies them.

use alloy_evm::precompiles::PrecompilesMap;
use alloy_primitives::map::{AddressSet, B256Map};
use alloy_primitives::{Address, Bytes, B256};
use alloy_rpc_types_eth::state::{AccountOverride, StateOverride};
use revm::bytecode::Bytecode;

use super::simulated_state::SimulatedState;
use crate::error::Error;
use crate::evm::call::refusal::refuse;

/// Put the overrides into the state, move precompiled contracts, and remove those at overridden accounts.
pub fn apply(
    overrides: &StateOverride,
    simulated_state: &mut SimulatedState<'_>,
    precompiles: &mut PrecompilesMap,
    has_delegations: bool,
) -> Result<(), Error> {
    let mut accounts: Vec<_> = overrides.iter().collect();
    accounts.sort_unstable_by_key(|(address, _)| **address);
    let mut targets = AddressSet::default();
    for (address, account) in accounts {
        if targets.contains(address) {
            return Err(wrong(*address, "has already been overridden by a precompile"));
        }
        if let Some(target) = account.move_precompile_to {
            move_precompile(*address, target, overrides, precompiles)?;
            targets.insert(target);
        }
        forget(*address, precompiles);
        set_account(*address, account, simulated_state, has_delegations)?;
        set_storage(*address, account, simulated_state)?;
    }
    Ok(())
}

fn wrong(address: Address, what: &str) -> Error {
    refuse("overrides", format!("account {address} {what}"))
}

/// Remove the precompiled contract at an overridden account.
fn forget(address: Address, precompiles: &mut PrecompilesMap) {
    if precompiles.get(&address).is_some() {
        precompiles.apply_precompile(&address, |_| None);
    }
}

fn move_precompile(
    source: Address,
    target: Address,
    overrides: &StateOverride,
    precompiles: &mut PrecompilesMap,
) -> Result<(), Error> {
    if precompiles.get(&source).is_none() {
        return Err(wrong(source, "is not a precompile"));
    }
    if overrides.contains_key(&target) {
        return Err(wrong(target, "is already overridden"));
    }
    precompiles.move_precompiles([(source, target)]).map_err(Error::internal)
}

fn set_account(
    address: Address,
    account: &AccountOverride,
    simulated_state: &mut SimulatedState<'_>,
    has_delegations: bool,
) -> Result<(), Error> {
    if account.nonce.is_none() && account.code.is_none() && account.balance.is_none() {
        return Ok(());
    }
    let mut info = simulated_state.account(address)?;
    info.nonce = account.nonce.unwrap_or(info.nonce);
    info.balance = account.balance.unwrap_or(info.balance);
    if let Some(code) = &account.code {
        let code = if has_delegations { bytecode(code) } else { Bytecode::new_legacy(code.clone()) };
        info.code_hash = code.hash_slow();
        info.code = Some(code);
    }
    simulated_state.set(address, info)
}

/// Return `code` as bytecode. Bytes that only resemble a delegation (EIP-7702) are plain code.
fn bytecode(code: &Bytes) -> Bytecode {
    Bytecode::new_raw_checked(code.clone()).unwrap_or_else(|_| Bytecode::new_legacy(code.clone()))
}

fn set_storage(
    address: Address,
    account: &AccountOverride,
    simulated_state: &mut SimulatedState<'_>,
) -> Result<(), Error> {
    match (&account.state, &account.state_diff) {
        (Some(_), Some(_)) => Err(wrong(address, "has both 'state' and 'stateDiff'")),
        (None, None) => Ok(()),
        (Some(slots), None) => {
            let info = simulated_state.account(address)?;
            simulated_state.set(address, info)?;
            simulated_state.wipe(address)?;
            set_slots(address, slots, simulated_state)
        }
        (None, Some(slots)) if slots.is_empty() => Ok(()),
        (None, Some(slots)) => {
            let info = simulated_state.account(address)?;
            simulated_state.set(address, info)?;
            set_slots(address, slots, simulated_state)
        }
    }
}

fn set_slots(
    address: Address,
    slots: &B256Map<B256>,
    simulated_state: &mut SimulatedState<'_>,
) -> Result<(), Error> {
    slots
        .iter()
        .try_for_each(|(slot, value)| simulated_state.set_slot(address, (*slot).into(), (*value).into()))
}
