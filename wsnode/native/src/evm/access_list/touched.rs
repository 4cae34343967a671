//! Accounts and slots that a run touches.

use std::collections::{BTreeMap, BTreeSet};

use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_primitives::{Address, B256};
use revm::bytecode::opcode;
use revm::inspector::Inspector;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::{InputsTr, Jumps};
use revm::interpreter::Interpreter;

/// Accounts with slots. Excluded accounts are added only with a slot, because a transaction warms them
/// anyway.
#[derive(Debug, Clone)]
pub struct AccessedAccounts<'a> {
    excluded: &'a BTreeSet<Address>,
    accounts: BTreeMap<Address, BTreeSet<B256>>,
}

impl<'a> AccessedAccounts<'a> {
    pub fn new(list: &AccessList, excluded: &'a BTreeSet<Address>) -> Self {
        let mut accounts = BTreeMap::<_, BTreeSet<_>>::new();
        for item in list.iter().filter(|item| !excluded.contains(&item.address)) {
            accounts.entry(item.address).or_default().extend(item.storage_keys.iter().copied());
        }
        Self { excluded, accounts }
    }

    /// Return the accounts and their slots as an access list, both in ascending order.
    pub fn list(&self) -> AccessList {
        let item = |(address, slots): (&Address, &BTreeSet<B256>)| AccessListItem {
            address: *address,
            storage_keys: slots.iter().copied().collect(),
        };
        AccessList(self.accounts.iter().map(item).collect())
    }

    /// Return whether `other` holds the same accounts and slots.
    pub fn agrees(&self, other: &Self) -> bool {
        self.accounts == other.accounts
    }

    fn name(&mut self, address: Address) {
        if !self.excluded.contains(&address) {
            self.accounts.entry(address).or_default();
        }
    }
}

impl<C> Inspector<C, EthInterpreter> for AccessedAccounts<'_> {
    fn step(&mut self, interpreter: &mut Interpreter<EthInterpreter>, _context: &mut C) {
        let stack = interpreter.stack.data();
        let item = |depth: usize| stack.len().checked_sub(depth).map(|index| stack[index]);
        match interpreter.bytecode.opcode() {
            opcode::SLOAD | opcode::SSTORE => {
                if let Some(slot) = item(1) {
                    let account = self.accounts.entry(interpreter.input.target_address()).or_default();
                    account.insert(slot.into());
                }
            }
            opcode::EXTCODECOPY
            | opcode::EXTCODEHASH
            | opcode::EXTCODESIZE
            | opcode::BALANCE
            | opcode::SELFDESTRUCT => {
                if let Some(address) = item(1) {
                    self.name(Address::from_word(address.into()));
                }
            }
            opcode::CALL | opcode::CALLCODE | opcode::DELEGATECALL | opcode::STATICCALL => {
                if let (Some(address), true) = (item(2), stack.len() >= 5) {
                    self.name(Address::from_word(address.into()));
                }
            }
            _ => {}
        }
    }
}
