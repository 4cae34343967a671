//! Values of recent blocks in memory: of all uncommitted blocks, and for a while of committed ones.

use super::delta::Delta;
use super::layout::account::Account;
use alloy_primitives::map::{AddressMap, B256Map, HashMap};
use alloy_primitives::{Address, B256, U256};
use revm::bytecode::Bytecode;

/// Maximum number of values kept after their commit; beyond it all are dropped.
const KEPT: usize = 500_000;

/// Latest values of the accounts, slots and code changed lately.
#[derive(Debug, Default)]
pub(super) struct Overlay {
    accounts: AddressMap<Recent>,
    code: B256Map<Bytecode>,
    size: usize,
}

#[derive(Debug, Default)]
struct Recent {
    account: Option<Option<Account>>,
    slots: HashMap<U256, U256>,
}

impl Overlay {
    /// Set the values to those after a further block.
    pub(super) fn add(&mut self, delta: &Delta) {
        for changed in &delta.accounts {
            let recent = self.accounts.entry(changed.address).or_default();
            recent.account = changed.account.or(recent.account);
            recent.slots.extend(changed.slots.iter().copied());
            self.size += 1 + changed.slots.len();
        }
        self.code.extend(delta.code.iter().cloned());
    }

    /// Drop all values but the uncommitted ones if there are more than `KEPT`.
    pub(super) fn shrink<'d>(&mut self, uncommitted: impl Iterator<Item = &'d Delta>) {
        if self.size > KEPT {
            *self = Self::default();
            uncommitted.for_each(|delta| self.add(delta));
        }
    }

    pub(super) fn account(&self, address: &Address) -> Option<Option<Account>> {
        self.accounts.get(address)?.account
    }

    pub(super) fn slot(&self, address: &Address, slot: &U256) -> Option<U256> {
        self.accounts.get(address)?.slots.get(slot).copied()
    }

    /// Return the known slots of an account with their values, those set to zero included.
    pub(super) fn slots(&self, address: &Address) -> impl Iterator<Item = (&U256, &U256)> {
        self.accounts.get(address).into_iter().flat_map(|recent| &recent.slots)
    }

    pub(super) fn code(&self, hash: &B256) -> Option<Bytecode> {
        self.code.get(hash).cloned()
    }
}
