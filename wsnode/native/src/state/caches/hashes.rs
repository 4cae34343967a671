//! Cache of the hashes of addresses and slots: most blocks touch the same ones.

use crate::state::delta::{AccountDelta, Delta};
use crate::state::layout::account::Account;
use crate::trie::{AccountChange, AccountUpdate};
use alloy_primitives::map::{AddressMap, HashMap};
use alloy_primitives::{keccak256, Address, B256, U256};

/// Maximum number of entries of each map; a fuller map is emptied.
const KEPT: usize = 1 << 17;

/// Keccak-256 hashes of addresses and slots.
#[derive(Debug, Default)]
pub(in crate::state) struct Hashes {
    addresses: AddressMap<B256>,
    slots: HashMap<U256, B256>,
}

impl Hashes {
    /// Convert `delta` to changes of the tries, one for each account, with hashed keys.
    pub(in crate::state) fn changes<'d>(
        &'d mut self,
        delta: &'d Delta,
    ) -> impl Iterator<Item = AccountChange> + 'd {
        delta.accounts.iter().map(|account| self.change(account))
    }

    /// Convert one account's changes to a change of the tries, with hashed keys; `is_emptied` is left false.
    pub(in crate::state) fn change(&mut self, delta: &AccountDelta) -> AccountChange {
        AccountChange {
            hashed_address: self.address(delta.address),
            update: delta.account.map_or(AccountUpdate::Unchanged, Account::update),
            is_emptied: false,
            slots: delta.slots.iter().map(|(slot, value)| (self.slot(*slot), *value)).collect(),
        }
    }

    fn address(&mut self, address: Address) -> B256 {
        if self.addresses.len() > KEPT {
            self.addresses.clear();
        }
        *self.addresses.entry(address).or_insert_with(|| keccak256(address))
    }

    fn slot(&mut self, slot: U256) -> B256 {
        if self.slots.len() > KEPT {
            self.slots.clear();
        }
        *self.slots.entry(slot).or_insert_with(|| keccak256(slot.to_be_bytes::<32>()))
    }
}
