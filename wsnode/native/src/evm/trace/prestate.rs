//! geth's prestateTracer: accounts and slots before a run, or the changes of the run.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, Bytes, B256, U256};
use revm::bytecode::opcode;
use revm::context::result::ResultAndState;
use revm::context::TxEnv;
use revm::context_interface::transaction::AuthorizationTr;
use revm::interpreter::interpreter_types::{InputsTr, Jumps, LoopControl};
use revm::interpreter::InterpreterAction;
use revm::primitives::hardfork::SpecId;
use revm::primitives::{TxKind, KECCAK_EMPTY};
use revm::state::AccountInfo;

use super::fault::{self, StepStart};
use super::options::TracerConfig;
use super::reading::{account, as_address, code, item, storage, stored_account, Frame};
use crate::evm::call::{CallContext, CallState};
use crate::json::traces;

/// Approximate bytes in memory of an account without code, and of a slot.
const ENTRY_SIZE: usize = 256;
/// Maximum number of zeros behind the memory in a copy of a part of it (geth eth/tracers/internal/util.go).
const MAX_PADDING: i64 = 1 << 20;

/// Collector of accounts and slots at their first use.
#[derive(Debug)]
pub struct Prestate {
    config: TracerConfig,
    rules: SpecId,
    before: BTreeMap<Address, AccountBefore>,
    created: BTreeSet<Address>,
    deleted: BTreeSet<Address>,
    start: StepStart,
    entries: Vec<PrestateEntry>,
    size: usize,
}

/// Entry that the current instruction added. It is removed if the instruction does not run.
#[derive(Debug)]
enum PrestateEntry {
    Account(Address),
    Slot(Address, U256),
    Created(Address),
    Deleted(Address),
}

#[derive(Debug, Default, Clone)]
struct AccountBefore {
    balance: Option<U256>,
    nonce: u64,
    code: Option<Bytes>,
    code_hash: Option<B256>,
    storage: BTreeMap<U256, U256>,
    is_empty: bool,
}

impl Prestate {
    pub fn new(config: TracerConfig, rules: SpecId) -> Self {
        let (created, deleted) = (BTreeSet::new(), BTreeSet::new());
        let start = StepStart { opcode: 0, gas: 0, stack: 0, rules };
        Self { config, rules, before: BTreeMap::new(), created, deleted, start, entries: Vec::new(), size: 0 }
    }

    /// Return the bytes that are kept so far.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Record, before a transaction runs, its sender, its receiver or new contract, the receiver's delegate,
    /// the beneficiary, and the authorities of its authorizations.
    pub fn prepare(&mut self, state: &mut CallState<'_>, transaction: &TxEnv, beneficiary: Address) {
        let to = match transaction.kind {
            TxKind::Call(to) => to,
            TxKind::Create => {
                let nonce = stored_account(state, transaction.caller).nonce;
                transaction.caller.create(nonce)
            }
        };
        if transaction.kind == TxKind::Create {
            self.created.insert(to);
        } else if let Some(target) = self.delegate(state, to) {
            self.note_stored(state, target);
        }
        [transaction.caller, to, beneficiary].iter().for_each(|address| self.note_stored(state, *address));
        let authorities = transaction.authorization_list.iter().filter_map(AuthorizationTr::authority);
        authorities.for_each(|address| self.note_stored(state, address));
    }

    fn note_stored(&mut self, state: &mut CallState<'_>, address: Address) {
        if !self.before.contains_key(&address) {
            let found = stored_account(state, address);
            self.note(state, address, &found);
        }
    }

    fn note_current(&mut self, context: &mut CallContext<'_, '_>, address: Address) {
        if !self.before.contains_key(&address) {
            let found = account(context, address);
            self.note(context.journaled_state.database, address, &found);
            self.entries.push(PrestateEntry::Account(address));
        }
    }

    fn note(&mut self, state: &mut CallState<'_>, address: Address, found: &AccountInfo) {
        let code = code(state, found);
        self.size += ENTRY_SIZE + code.len();
        let is_empty = found.nonce == 0 && found.balance.is_zero() && code.is_empty();
        let entry = AccountBefore {
            balance: Some(found.balance),
            nonce: found.nonce,
            code_hash: (!code.is_empty()).then_some(found.code_hash),
            code: (!code.is_empty() && !self.config.disable_code).then_some(code),
            storage: BTreeMap::new(),
            is_empty,
        };
        self.before.insert(address, entry);
    }

    fn delegate(&self, state: &mut CallState<'_>, address: Address) -> Option<Address> {
        let found = stored_account(state, address);
        self.target_of(&code(state, &found))
    }

    fn target_of(&self, code: &[u8]) -> Option<Address> {
        let target = code.strip_prefix(&[0xef, 0x01, 0x00]).filter(|target| target.len() == 20)?;
        self.rules.is_enabled_in(SpecId::PRAGUE).then(|| Address::from_slice(target))
    }

    pub fn begin(&mut self, frame: &Frame, context: &mut CallContext<'_, '_>) {
        let stack = frame.stack.data();
        let here = frame.input.target_address();
        self.entries.clear();
        self.start.opcode = frame.bytecode.opcode();
        self.start.gas = frame.gas.remaining();
        self.start.stack = stack.len();
        match frame.bytecode.opcode() {
            opcode::SLOAD | opcode::SSTORE => {
                if let Some(slot) = item(stack, 1).filter(|_| !self.config.disable_storage) {
                    self.note_slot(context, here, slot);
                }
            }
            opcode::EXTCODECOPY | opcode::EXTCODEHASH | opcode::EXTCODESIZE | opcode::BALANCE => {
                if let Some(word) = item(stack, 1) {
                    self.note_current(context, as_address(word));
                }
            }
            opcode::SELFDESTRUCT => {
                if let Some(word) = item(stack, 1) {
                    self.note_current(context, as_address(word));
                    if !self.rules.is_enabled_in(SpecId::CANCUN) || self.created.contains(&here) {
                        self.note_deleted(here);
                    }
                }
            }
            opcode::CALL | opcode::CALLCODE | opcode::DELEGATECALL | opcode::STATICCALL => {
                if let Some(word) = item(stack, 2).filter(|_| stack.len() >= 5) {
                    self.note_called(context, as_address(word));
                }
            }
            opcode::CREATE => {
                let nonce = account(context, here).nonce;
                self.note_created(context, here.create(nonce));
            }
            opcode::CREATE2 if stack.len() >= 4 => self.note_salted(frame, context, here),
            _ => {}
        }
    }

    fn note_slot(&mut self, context: &mut CallContext<'_, '_>, address: Address, slot: U256) {
        let value = storage(context, address, slot);
        if let Some(state) = self.before.get_mut(&address) {
            if let Entry::Vacant(entry) = state.storage.entry(slot) {
                entry.insert(value);
                self.size += ENTRY_SIZE;
                self.entries.push(PrestateEntry::Slot(address, slot));
            }
        }
    }

    fn note_deleted(&mut self, address: Address) {
        if self.deleted.insert(address) {
            self.entries.push(PrestateEntry::Deleted(address));
        }
    }

    pub fn end(&mut self, frame: &mut Frame) {
        let Some(InterpreterAction::Return(result)) = frame.bytecode.action() else { return };
        if fault::words(&self.start, result.result).is_none() {
            return;
        }
        for entry in self.entries.drain(..) {
            match entry {
                PrestateEntry::Account(address) => drop(self.before.remove(&address)),
                PrestateEntry::Slot(address, slot) => {
                    self.before.get_mut(&address).map(|state| state.storage.remove(&slot));
                }
                PrestateEntry::Created(address) => drop(self.created.remove(&address)),
                PrestateEntry::Deleted(address) => drop(self.deleted.remove(&address)),
            }
        }
    }

    fn note_called(&mut self, context: &mut CallContext<'_, '_>, address: Address) {
        self.note_current(context, address);
        let found = account(context, address);
        let code = code(context.journaled_state.database, &found);
        if let Some(target) = self.target_of(&code) {
            self.note_current(context, target);
        }
    }

    fn note_created(&mut self, context: &mut CallContext<'_, '_>, address: Address) {
        self.note_current(context, address);
        if self.created.insert(address) {
            self.entries.push(PrestateEntry::Created(address));
        }
    }

    fn note_salted(&mut self, frame: &Frame, context: &mut CallContext<'_, '_>, here: Address) {
        let stack = frame.stack.data();
        let word = |depth| item(stack, depth).unwrap_or_default();
        let Some(initcode) = padded_memory(&frame.memory.context_memory(), word(2), word(3)) else { return };
        let address = here.create2_from_code(B256::from(word(4)), initcode);
        self.note_created(context, address);
    }

    /// Write the accounts before the run; with `diff_mode`, their changes.
    pub fn finish(mut self, text: &mut Vec<u8>, state: &mut CallState<'_>, result: &ResultAndState) {
        let after = if self.config.diff_mode { self.changes(state, result) } else { BTreeMap::new() };
        if !self.config.include_empty {
            self.before.retain(|_, account| !account.is_empty);
        }
        if !self.config.diff_mode {
            return write_states(text, &self.before);
        }
        text.extend_from_slice(b"{\"post\":");
        write_states(text, &after);
        text.extend_from_slice(b",\"pre\":");
        write_states(text, &self.before);
        text.push(b'}');
    }

    fn changes(
        &mut self,
        state: &mut CallState<'_>,
        result: &ResultAndState,
    ) -> BTreeMap<Address, AccountBefore> {
        let mut after = BTreeMap::new();
        let before = std::mem::take(&mut self.before);
        for (address, mut was) in before {
            if self.deleted.contains(&address) {
                self.before.insert(address, was);
                continue;
            }
            if let Some(is) = self.change(state, result, address, &mut was) {
                after.insert(address, is);
                self.before.insert(address, was);
            }
        }
        after
    }

    /// Return the changed members of an account, or None without a change. Unchanged slots are removed from
    /// `was`.
    fn change(
        &self,
        state: &mut CallState<'_>,
        result: &ResultAndState,
        address: Address,
        was: &mut AccountBefore,
    ) -> Option<AccountBefore> {
        let changed = result.state.get(&address);
        let info = match changed {
            Some(account) if account.is_selfdestructed() => AccountInfo::default(),
            Some(account) => account.info.clone(),
            None => stored_account(state, address),
        };
        let code = code(state, &info);
        let exists = !info.is_empty() || !self.rules.is_enabled_in(SpecId::SPURIOUS_DRAGON);
        let hash = if exists { info.code_hash } else { B256::ZERO };
        let known = was.code.clone().unwrap_or_default();
        let mut is = AccountBefore {
            balance: (was.balance != Some(info.balance)).then_some(info.balance),
            nonce: if info.nonce == was.nonce { 0 } else { info.nonce },
            code_hash: (hash != was.code_hash.unwrap_or(KECCAK_EMPTY)).then_some(hash),
            code: (!self.config.disable_code && code != known).then_some(code),
            ..AccountBefore::default()
        };
        let mut is_modified =
            is.balance.is_some() || info.nonce != was.nonce || is.code_hash.is_some() || is.code.is_some();
        let slots = std::mem::take(&mut was.storage);
        for (slot, value) in slots {
            let present = changed.and_then(|account| account.storage.get(&slot));
            let new = present.map_or(value, |entry| entry.present_value);
            if new == value {
                continue;
            }
            is_modified = true;
            if !value.is_zero() {
                was.storage.insert(slot, value);
            }
            if !new.is_zero() {
                is.storage.insert(slot, new);
            }
        }
        is_modified.then_some(is)
    }
}

fn write_states(text: &mut Vec<u8>, states: &BTreeMap<Address, AccountBefore>) {
    traces::object(text, states, |text, (address, state)| {
        traces::data(text, address.as_slice());
        text.push(b':');
        state.write(text);
    });
}

impl AccountBefore {
    fn write(&self, text: &mut Vec<u8>) {
        let mut members: Vec<Vec<u8>> = Vec::new();
        let mut member = |name: &str, write: &dyn Fn(&mut Vec<u8>)| {
            let mut piece = format!("\"{name}\":").into_bytes();
            write(&mut piece);
            members.push(piece);
        };
        if let Some(balance) = &self.balance {
            member("balance", &|text| traces::quantity(text, balance));
        }
        if let Some(code) = &self.code {
            member("code", &|text| traces::data(text, code));
        }
        if let Some(hash) = &self.code_hash {
            member("codeHash", &|text| traces::data(text, hash.as_slice()));
        }
        if self.nonce > 0 {
            member("nonce", &|text| traces::decimal(text, self.nonce));
        }
        if !self.storage.is_empty() {
            member("storage", &|text| write_slots(text, &self.storage));
        }
        traces::object(text, members, |text, piece| text.extend_from_slice(&piece));
    }
}

fn write_slots(text: &mut Vec<u8>, slots: &BTreeMap<U256, U256>) {
    traces::object(text, slots, |text, (slot, value)| {
        traces::data(text, &slot.to_be_bytes::<32>());
        text.push(b':');
        traces::data(text, &value.to_be_bytes::<32>());
    });
}

/// Return `size` bytes of the memory from `offset` on, with zeros behind its end, as geth's GetMemoryCopyPadded
/// (eth/tracers/internal/util.go) does: of both numbers it takes the lower 64 bits. None if either is negative
/// there, or if more than `MAX_PADDING` zeros are needed.
fn padded_memory(memory: &[u8], offset: U256, size: U256) -> Option<Vec<u8>> {
    let signed = |word: U256| i64::try_from(word.wrapping_to::<u64>()).ok();
    let (offset, size) = (signed(offset)?, signed(size)?);
    let (end, length) = (offset.checked_add(size)?, memory.len() as i64);
    if end - length > MAX_PADDING {
        return None;
    }
    let (start, stop) = (offset.min(length) as usize, end.min(length) as usize);
    let mut copy = memory[start..stop].to_vec();
    copy.resize(size as usize, 0);
    Some(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_memory_is_padded_as_far_as_in_geth() {
        let (memory, word) = ([1, 2, 3, 4], U256::from::<u64>);
        let padded = |offset, size| padded_memory(&memory, offset, size);
        assert_eq!(padded(word(1), word(2)), Some(vec![2, 3]));
        assert_eq!(padded(word(2), word(4)), Some(vec![3, 4, 0, 0]));
        assert_eq!(padded(word(9), word(2)), Some(vec![0, 0]));
        assert_eq!(padded(word(0), word(4 + (1 << 20))).map(|copy| copy.len()), Some(4 + (1 << 20)));
        assert_eq!(padded(word(0), word(5 + (1 << 20))), None);
        // An init code without bytes behind a distant offset needs zeros up to there.
        assert_eq!(padded(word(4 + (1 << 20)), word(0)), Some(vec![]));
        assert_eq!(padded(word(5 + (1 << 20)), word(0)), None);
        assert_eq!(padded(word(1 << 63), word(0)), None);
        assert_eq!(padded((word(1) << 64) + word(3), word(1)), Some(vec![4]));
        assert_eq!(padded(word(i64::MAX as u64), word(i64::MAX as u64)), None);
    }
}
