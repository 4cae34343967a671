//! State after one block, known in parts. A fork of another chain reads from it the values that it has not
//! set itself.

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

/// Number of ancestors of which BLOCKHASH can return the hash.
const NAMED: u64 = 256;

/// State after another chain's block, known in parts.
#[derive(Debug)]
pub struct ForkBase {
    store: Arc<ProvedStore>,
    /// Block after which this is the state.
    pub block: Head,
}

impl ForkBase {
    /// Open the state after `block`, whose known values are stored in the folder `path`.
    pub fn open(path: &Path, block: Head) -> Result<Self, StateError> {
        Ok(Self { store: ProvedStore::open(path)?, block })
    }

    /// Verify fetched values and keep them.
    pub fn keep(&self, proved: &[Proved]) -> Result<(), StateError> {
        self.store.keep(self.block.state_root, proved)
    }

    /// Keep the hashes of the block's ancestors, verified by the caller, each with its number.
    pub fn keep_hashes(&self, hashes: &[(u64, B256)]) -> Result<(), StateError> {
        self.store.keep_hashes(self.block.hash, hashes)
    }
}

/// State after a block as of one read transaction.
pub struct ProvedView<'e> {
    store: &'e ProvedStore,
    pub block: Head,
    /// True if the states of several blocks are served: an error `Unknown` then ends with the block.
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

    /// Return the account, None if it does not exist; fail with `Unknown` if it is not known.
    pub fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        let found = self.store.account(&self.txn, &self.block.state_root, address)?;
        found.ok_or_else(|| self.unknown(vec![Miss::Account(*address)]))
    }

    /// Return the slot's value; fail with `Unknown` if it is not known, naming the account too if this is
    /// unknown.
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

    /// Return true if the account has any storage; fail with `Unknown` if the account is not proved.
    pub fn has_storage(&self, address: &Address) -> Result<bool, StateError> {
        let proved = self.store.proved_account(&self.txn, &self.block.state_root, address)?;
        let account = proved.ok_or_else(|| self.unknown(vec![Miss::Account(*address)]))?;
        Ok(account.is_some_and(|account| account.storage_root != EMPTY_ROOT_HASH))
    }

    /// Check that accounts and slots are proved, because only proofs supply nodes of the trie; else fail with
    /// `Unknown`.
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

    /// Return the code with this hash, or None if it is not stored; each known account's code is.
    pub fn code(&self, hash: &B256) -> Result<Option<Bytes>, StateError> {
        self.store.code_in(&self.txn, hash)
    }

    /// Return the hash of the block or of one of its last 256 ancestors; zero for any other number.
    ///
    /// Fail with `Unknown` if the ancestor's hash is not stored.
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

    pub fn node(&self, hash: &B256) -> Result<Option<&[u8]>, TrieError> {
        let unreadable = |error| TrieError::Store(Box::new(StateError::from(error)));
        known(self.store.nodes, &self.txn, hash.as_slice()).map_err(unreadable)
    }
}
