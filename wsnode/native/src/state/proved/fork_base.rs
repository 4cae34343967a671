//! The state after one block, as far as it is known: below a chain whose first block is another chain's it is read
//! where the chain itself has no value.

use std::path::Path;
use std::sync::Arc;

use crate::store::PinnedTxn;
use alloy_primitives::{Address, Bytes, B256, U256};
use alloy_trie::EMPTY_ROOT_HASH;

use super::proof::Proved;
use super::store::{hash_key, known, ProvedStore};
use crate::state::error::Miss;
use crate::state::layout::account::Account;
use crate::state::layout::tables::Head;
use crate::state::StateError;
use crate::trie::TrieError;

/// How many blocks before it a block can name by their hashes.
const NAMED: u64 = 256;

/// The state after another chain's block, as far as it is known.
#[derive(Debug)]
pub struct ForkBase {
    store: Arc<ProvedStore>,
    /// That block.
    pub block: Head,
}

impl ForkBase {
    /// The state after `block`, of which the store in the folder `path` has what is known.
    pub fn open(path: &Path, block: Head) -> Result<Self, StateError> {
        Ok(Self { store: ProvedStore::open(path)?, block })
    }

    /// Verify what was fetched, and keep it.
    pub fn keep(&self, proved: &[Proved]) -> Result<(), StateError> {
        self.store.keep(self.block.state_root, proved)
    }

    /// Keep the hashes of blocks before its own, which the caller has verified.
    pub fn keep_hashes(&self, hashes: &[(u64, B256)]) -> Result<(), StateError> {
        self.store.keep_hashes(self.block.hash, hashes)
    }
}

/// The state after a block as of one moment.
pub struct ProvedView<'e> {
    store: &'e ProvedStore,
    pub block: Head,
    /// Whether it is one of several: what is unknown is said with the block then.
    is_named: bool,
    txn: PinnedTxn,
}

impl<'e> ProvedView<'e> {
    pub fn new(fork_base: &'e ForkBase) -> Result<Self, StateError> {
        Self::after(&fork_base.store, fork_base.block, false)
    }

    pub(super) fn after(store: &'e ProvedStore, block: Head, is_named: bool) -> Result<Self, StateError> {
        Ok(Self { store, block, is_named, txn: store.read()? })
    }

    fn unknown(&self, mut misses: Vec<Miss>) -> StateError {
        if self.is_named {
            misses.push(Miss::After(self.block.number, self.block.hash));
        }
        StateError::Unknown(misses)
    }

    /// The account; an error if it is not known.
    pub fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        let found = self.store.account(&self.txn, &self.block.state_root, address)?;
        found.ok_or_else(|| self.unknown(vec![Miss::Account(*address)]))
    }

    /// The slot's value; an error if it is not known.
    pub fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        let root = &self.block.state_root;
        if let Some(value) = self.store.slot(&self.txn, root, address, slot)? {
            return Ok(value);
        }
        let mut misses = vec![Miss::Slot(*address, *slot)];
        if self.store.account(&self.txn, root, address)?.is_none() {
            misses.insert(0, Miss::Account(*address));
        }
        Err(self.unknown(misses))
    }

    /// Whether the account has any storage; an error if it is not proved.
    pub fn has_storage(&self, address: &Address) -> Result<bool, StateError> {
        let proved = self.store.proved_account(&self.txn, &self.block.state_root, address)?;
        let account = proved.ok_or_else(|| self.unknown(vec![Miss::Account(*address)]))?;
        Ok(account.is_some_and(|account| account.storage_root != EMPTY_ROOT_HASH))
    }

    /// An error if accounts and slots are not proved: the trie's nodes on the way to other values are not known.
    pub fn require_nodes(&self, values: &[(Address, Vec<U256>)]) -> Result<(), StateError> {
        let (root, mut misses) = (&self.block.state_root, Vec::new());
        for (address, slots) in values {
            if self.store.proved_account(&self.txn, root, address)?.is_none() {
                misses.push(Miss::Account(*address));
            }
            for slot in slots {
                if self.store.proved_slot(&self.txn, root, address, slot)?.is_none() {
                    misses.push(Miss::Slot(*address, *slot));
                }
            }
        }
        if misses.is_empty() {
            Ok(())
        } else {
            Err(self.unknown(misses))
        }
    }

    /// The code with this hash, if it is known: an account is kept with its code.
    pub fn code(&self, hash: &B256) -> Result<Option<Bytes>, StateError> {
        self.store.code_in(&self.txn, hash)
    }

    /// The hash of the base's block, or of one before it; zero for those that no block can name.
    pub fn block_hash(&self, number: u64) -> Result<B256, StateError> {
        let block = &self.block;
        if number == block.number {
            return Ok(block.hash);
        }
        if number >= block.number || number + NAMED < block.number {
            return Ok(B256::ZERO);
        }
        let row = known(self.store.hashes, &self.txn, &hash_key(&block.hash, number))?;
        let found = row.map(|row| B256::try_from(row).map_err(|_| StateError::Corrupt("hash".into())));
        found.unwrap_or_else(|| Err(self.unknown(vec![Miss::BlockHash(number)])))
    }

    /// The trie's node with this hash, if it is known.
    pub fn node(&self, hash: &B256) -> Result<Option<&[u8]>, TrieError> {
        let unreadable = |error| TrieError::Store(Box::new(StateError::from(error)));
        known(self.store.nodes, &self.txn, hash.as_slice()).map_err(unreadable)
    }
}
