//! Reads of the state during a run: the changes of the run, on top of the state before it.

use alloy_primitives::{Address, Bytes, B256, U256};
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::Interpreter;
use revm::primitives::KECCAK_EMPTY;
use revm::state::AccountInfo;
use revm::Database;

use crate::evm::call::{CallContext, CallState};

/// Interpreter of one frame.
pub type Frame = Interpreter<EthInterpreter>;

/// Slot before a write to it.
#[derive(Debug, Clone, Copy)]
pub struct Slot {
    pub is_cold: bool,
    pub original: U256,
    pub present: U256,
}

/// Return the account at this point of the run, or the default account if there is none.
pub fn account(context: &mut CallContext<'_, '_>, address: Address) -> AccountInfo {
    if let Some(account) = context.journaled_state.inner.state.get(&address) {
        return account.info.clone();
    }
    stored_account(context.journaled_state.database, address)
}

/// Return the account before the run, or the default account if there is none.
pub fn stored_account(state: &mut CallState<'_>, address: Address) -> AccountInfo {
    // An error of the store is ignored here, because it fails the run itself.
    state.basic(address).ok().flatten().unwrap_or_default()
}

pub fn code(state: &mut CallState<'_>, account: &AccountInfo) -> Bytes {
    match &account.code {
        Some(code) => code.original_bytes(),
        None if account.code_hash == KECCAK_EMPTY || account.code_hash == B256::ZERO => Bytes::new(),
        None => state.code_by_hash(account.code_hash).map(|code| code.original_bytes()).unwrap_or_default(),
    }
}

/// Return the value of the slot at this point of the run.
pub fn storage(context: &mut CallContext<'_, '_>, address: Address, slot: U256) -> U256 {
    if let Some(account) = context.journaled_state.inner.state.get(&address) {
        if let Some(value) = account.storage.get(&slot) {
            return value.present_value;
        }
        if account.is_created() {
            return U256::ZERO;
        }
    }
    context.journaled_state.database.storage(address, slot).unwrap_or_default()
}

pub fn slot(context: &mut CallContext<'_, '_>, address: Address, key: U256) -> Slot {
    let present = storage(context, address, key);
    let transaction = context.journaled_state.inner.transaction_id;
    let account = context.journaled_state.inner.state.get(&address);
    let known = account.and_then(|account| account.storage.get(&key));
    Slot {
        is_cold: known.is_none_or(|slot| slot.is_cold_transaction_id(transaction)),
        original: known.map_or(present, |slot| slot.original_value),
        present,
    }
}

/// Return the item of the stack at `depth`, 1 for the top, or None if the stack is too short.
pub fn item(stack: &[U256], depth: usize) -> Option<U256> {
    stack.len().checked_sub(depth).map(|index| stack[index])
}

pub fn as_address(word: U256) -> Address {
    Address::from_word(word.into())
}
