//! Reads of values as of a block.

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
    /// Return the account after block `number`; None if it does not exist.
    pub(super) fn account_at(&self, address: &Address, number: u64) -> Result<Option<Account>, StateError> {
        let own = self.own(|| value_at(&self.txn, self.tables.accounts, address.as_slice(), number))?;
        match (own, &self.base) {
            (Some(value), _) => Account::decode(value),
            (None, Some(base)) => base.account(address),
            (None, None) => Ok(None),
        }
    }

    /// Return the numbers of the blocks, none above `number`, in which the account itself changed, `limit` of
    /// them at most.
    ///
    /// They are those from `start` on, oldest first, if `is_forward`, else those up to `start`, newest first.
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

    /// Return the value of `slot` after block `number`, zero if it was never set.
    pub(super) fn storage_at(&self, address: &Address, slot: &U256, number: u64) -> Result<U256, StateError> {
        let key = slot_key(address, slot);
        let own = self.own(|| value_at(&self.txn, self.tables.storage, &key, number))?;
        match (own, &self.base) {
            (Some(value), _) => decode_value(value),
            (None, Some(base)) => base.storage(address, slot),
            (None, None) => Ok(U256::ZERO),
        }
    }

    /// Return the addresses of all accounts after block `number`, sorted.
    pub(super) fn addresses_at(&self, number: u64) -> Result<Vec<Address>, StateError> {
        self.require_whole("list of accounts")?;
        let mut live = Vec::new();
        let mut after = account_key(&Address::ZERO, 0);
        // The loop advances by one address at a time: `after` is first the lowest possible key, then the last
        // possible key of each address found.
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

    /// Check that the account's slots can be listed.
    ///
    /// A proved state cannot list them: fail with `Unlisted` for an account with storage at a fork's first
    /// block, and with `Unproved` where all states are proved.
    pub(super) fn require_listed(&self, address: &Address) -> Result<(), StateError> {
        match &self.base {
            Some(base) if base.has_storage(address)? => match self.is_proved {
                true => self.require_whole("list of slots"),
                false => Err(StateError::Unlisted(*address)),
            },
            _ => Ok(()),
        }
    }

    /// Check that each account and slot has a proof, if the whole state is known by proofs alone; else fail
    /// with `Unknown`.
    pub(super) fn require_nodes(&self, values: &[(Address, Vec<U256>)]) -> Result<(), StateError> {
        match &self.base {
            Some(base) if self.is_proved => base.require_nodes(values),
            _ => Ok(()),
        }
    }

    /// Check that the state is whole; fail with `Unproved(what)` if it is known by proofs alone, for these
    /// list nothing.
    pub(super) fn require_whole(&self, what: &'static str) -> Result<(), StateError> {
        match self.is_proved {
            true => Err(StateError::Unproved(what)),
            false => Ok(()),
        }
    }

    /// Return the result of `read` on the tables; None for a proved state, for the tables hold nothing of it.
    fn own<T>(&self, read: impl FnOnce() -> Result<Option<T>, StateError>) -> Result<Option<T>, StateError> {
        if self.is_proved {
            return Ok(None);
        }
        read()
    }

    /// Return all slots of `address` with a value other than zero after block `number`.
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

    /// Call `visit` with each slot of `address`, and its value, that is not zero after block `number`, in the
    /// order of the slots.
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
        // The loop advances by one slot at a time: `after` is first the lowest possible key, then the last
        // possible key of each slot found.
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

    /// Return the code with this hash; fail if it is missing, because an account refers to it.
    pub(super) fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        match self.find_code(hash)? {
            Some(code) => Ok(code),
            None => Err(self.tables.code.missing(&self.txn, hash.as_slice()).into()),
        }
    }

    /// Return the code with this hash, or None if it is not stored; no account need refer to it.
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

    /// Return the committed block with this number and hash; fail with `Reorganised` if another one took its
    /// place.
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

    pub(super) fn kept_block(&self, number: u64) -> Result<Option<Head>, StateError> {
        let block = self.block(number)?;
        let is_kept = self.is_proved || number >= self.earliest()?;
        Ok(block.filter(|_| is_kept))
    }

    /// Return the number of the first block with a readable state.
    pub(super) fn earliest(&self) -> Result<u64, StateError> {
        self.tables.earliest(&self.txn)
    }

    /// Return the hash and state root of block `number`; None if it is not stored.
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
        row.map_err(|error| TrieError::Store(Box::new(StateError::from(error))))
    }

    fn named(&self, hash: &B256) -> Result<Option<&[u8]>, TrieError> {
        self.base.as_ref().map_or(Ok(None), |base| base.node(hash))
    }

    fn is_partial(&self) -> bool {
        // Roots over a proved state must equal those of the whole state, so no missing node may be taken for
        // a branch.
        self.base.is_some() && !self.is_proved
    }
}
