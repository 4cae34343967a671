//! Reading values as of a block.

use super::environment::Snapshot;
use super::layout::account::{decode_value, Account};
use super::layout::keys::{account_key, node_key, slot_key, storage_key, ADDRESS, LATEST, SLOT};
use super::layout::tables::Head;
use super::layout::versions::{numbers_from, numbers_up_to, value_at};
use super::StateError;
use crate::trie::{NodeStore, TrieError};
use alloy_eips::BlockNumHash;
use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, Bytes, B256, U256};
use alloy_trie::{Nibbles, KECCAK_EMPTY};

impl Snapshot<'_> {
    /// The account after block `number`.
    pub(super) fn account_at(&self, address: &Address, number: u64) -> Result<Option<Account>, StateError> {
        let own = self.own(|| value_at(&self.txn, self.tables.accounts, address.as_slice(), number))?;
        match (own, &self.base) {
            (Some(value), _) => Account::decode(value),
            (None, Some(base)) => base.account(address),
            (None, None) => Ok(None),
        }
    }

    /// The blocks from `start` on, or those up to it, up to block `number`, in which the account changed.
    pub(super) fn changes_of(
        &self,
        address: &Address,
        start: u64,
        number: u64,
        is_forward: bool,
        limit: usize,
    ) -> Result<Vec<u64>, StateError> {
        self.require_whole("list of an account's changes")?;
        let (table, key) = (self.tables.accounts, address.as_slice());
        if !is_forward {
            return numbers_up_to(&self.txn, table, key, start.min(number), limit);
        }
        let mut numbers = numbers_from(&self.txn, table, key, start, limit)?;
        numbers.retain(|found| *found <= number);
        Ok(numbers)
    }

    /// The slot's value after block `number`.
    pub(super) fn storage_at(&self, address: &Address, slot: &U256, number: u64) -> Result<U256, StateError> {
        let key = slot_key(address, slot);
        let own = self.own(|| value_at(&self.txn, self.tables.storage, &key, number))?;
        match (own, &self.base) {
            (Some(value), _) => decode_value(value),
            (None, Some(base)) => base.storage(address, slot),
            (None, None) => Ok(U256::ZERO),
        }
    }

    /// Every account that existed after block `number`, in the order of their addresses.
    pub(super) fn addresses_at(&self, number: u64) -> Result<Vec<Address>, StateError> {
        self.require_whole("list of accounts")?;
        let mut live = Vec::new();
        let mut after = account_key(&Address::ZERO, 0);
        // As below, an address at a time.
        while let Some((key, _)) = self.tables.accounts.at_or_after(&self.txn, &after)? {
            if key.len() != after.len() {
                break;
            }
            let address = Address::from_slice(&key[..ADDRESS]);
            if self.account_at(&address, number)?.is_some() {
                live.push(address);
            }
            after = account_key(&address, LATEST);
        }
        Ok(live)
    }

    /// An error if the account has slots that are not listed here: those of a first block known by proofs alone.
    pub(super) fn require_listed(&self, address: &Address) -> Result<(), StateError> {
        match &self.base {
            Some(base) if base.has_storage(address)? => match self.is_proved {
                true => self.require_whole("list of slots"),
                false => Err(StateError::Unlisted(*address)),
            },
            _ => Ok(()),
        }
    }

    /// An error if states are known by proofs alone, and these values without one.
    pub(super) fn require_nodes(&self, values: &[(Address, Vec<U256>)]) -> Result<(), StateError> {
        match &self.base {
            Some(base) if self.is_proved => base.require_nodes(values),
            _ => Ok(()),
        }
    }

    /// An error if states are known by proofs alone, which list nothing.
    pub(super) fn require_whole(&self, what: &'static str) -> Result<(), StateError> {
        match self.is_proved {
            true => Err(StateError::Unproved(what)),
            false => Ok(()),
        }
    }

    /// What a table has, unless it says nothing of this block.
    fn own<T>(&self, read: impl FnOnce() -> Result<Option<T>, StateError>) -> Result<Option<T>, StateError> {
        if self.is_proved {
            return Ok(None);
        }
        read()
    }

    /// Every slot of `address` that was not zero after block `number`, and its value.
    pub(super) fn live_slots_at(
        &self,
        address: &Address,
        number: u64,
    ) -> Result<HashMap<U256, U256>, StateError> {
        let mut live = HashMap::default();
        self.each_live_slot_at(address, number, |slot, value| {
            live.insert(slot, value);
            Ok(())
        })?;
        Ok(live)
    }

    /// Have `visit` see each of them, in the order of the slots.
    pub(super) fn each_live_slot_at(
        &self,
        address: &Address,
        number: u64,
        mut visit: impl FnMut(U256, U256) -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        if self.is_proved {
            return match &self.base {
                Some(base) if !base.has_storage(address)? => Ok(()),
                _ => self.require_whole("list of slots"),
            };
        }
        let mut after = storage_key(address, &U256::ZERO, 0);
        // `after` is a slot's first possible key, then the last one of each slot found.
        while let Some((key, _)) = self.tables.storage.at_or_after(&self.txn, &after)? {
            if key.len() != after.len() || key[..ADDRESS] != address[..] {
                break;
            }
            let slot = U256::from_be_slice(&key[ADDRESS..SLOT]);
            let value = self.storage_at(address, &slot, number)?;
            if !value.is_zero() {
                visit(slot, value)?;
            }
            after = storage_key(address, &slot, LATEST);
        }
        Ok(())
    }

    /// The code with this hash.
    pub(super) fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        match self.find_code(hash)? {
            Some(code) => Ok(code),
            None => Err(self.tables.code.missing(&self.txn, hash.as_slice()).into()),
        }
    }

    /// As `code`, of a hash that no account need have.
    pub(super) fn find_code(&self, hash: &B256) -> Result<Option<Bytes>, StateError> {
        if *hash == KECCAK_EMPTY {
            return Ok(Some(Bytes::new()));
        }
        match (self.tables.code.get(&self.txn, hash.as_slice())?, &self.base) {
            (Some(code), _) => Ok(Some(Bytes::copy_from_slice(code))),
            (None, Some(base)) => base.code(hash),
            (None, None) => Ok(None),
        }
    }

    /// The committed block that is meant, if it still is one.
    pub(super) fn require(&self, block: BlockNumHash) -> Result<Head, StateError> {
        let BlockNumHash { number, hash: wanted } = block;
        let is_head = number == self.head.number;
        let recorded = if is_head { Some(self.head) } else { self.kept_block(number)? };
        let found = recorded.map(|recorded| recorded.hash);
        recorded.filter(|recorded| recorded.hash == wanted).ok_or(StateError::Reorganised {
            number,
            wanted,
            found,
        })
    }

    /// A block whose state is there.
    pub(super) fn kept_block(&self, number: u64) -> Result<Option<Head>, StateError> {
        let block = self.block(number)?;
        let is_kept = self.is_proved || number >= self.earliest()?;
        Ok(block.filter(|_| is_kept))
    }

    /// The first block whose state is there.
    pub(super) fn earliest(&self) -> Result<u64, StateError> {
        self.tables.earliest(&self.txn)
    }

    /// A block's hash and state root.
    pub(super) fn block(&self, number: u64) -> Result<Option<Head>, StateError> {
        self.own(|| self.tables.block(&self.txn, number))
    }
}

impl NodeStore for Snapshot<'_> {
    fn node(&self, owner: Option<&B256>, path: &Nibbles) -> Result<Option<&[u8]>, TrieError> {
        if self.is_proved {
            return Ok(None);
        }
        let tables = self.tables;
        let table = if owner.is_some() { tables.storage_nodes } else { tables.account_nodes };
        let row = table.get(&self.txn, &node_key(owner, path));
        row.map_err(|error| TrieError::Store(Box::new(error)))
    }

    fn named(&self, hash: &B256) -> Result<Option<&[u8]>, TrieError> {
        self.base.as_ref().map_or(Ok(None), |base| base.node(hash))
    }

    fn is_partial(&self) -> bool {
        // A light folder's roots must be those of the whole states, so that nothing is taken for anything.
        self.base.is_some() && !self.is_proved
    }
}
