//! The state after one block, as far as it is known: below a chain whose first block is another chain's it is read
//! where the chain itself has no value.

use std::path::Path;
use std::sync::Arc;

use alloy_primitives::{Address, Bytes, B256, U256};
use alloy_rlp::Decodable;
use alloy_trie::{TrieAccount, EMPTY_ROOT_HASH};
use heed::{RoTxn, WithoutTls};

use super::proof::Proved;
use super::store::{account_key, hash_key, slot_key, slot_name, ProvedStore};
use crate::state::error::Lack;
use crate::state::layout::account::{decode_value, Account};
use crate::state::layout::tables::Head;
use crate::state::StateError;
use crate::trie::TrieError;

/// How many blocks before it a block can name by their hashes.
const NAMED: u64 = 256;

/// The state after another chain's block, as far as it is known.
#[derive(Debug)]
pub struct Base {
    store: Arc<ProvedStore>,
    /// That block.
    pub block: Head,
}

impl Base {
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
pub struct BaseView<'e> {
    store: &'e ProvedStore,
    pub block: Head,
    /// Whether it is one of several: what is unknown is said with the block then.
    is_named: bool,
    txn: RoTxn<'e, WithoutTls>,
}

impl<'e> BaseView<'e> {
    pub fn new(base: &'e Base) -> Result<Self, StateError> {
        Self::after(&base.store, base.block, false)
    }

    pub(super) fn after(store: &'e ProvedStore, block: Head, is_named: bool) -> Result<Self, StateError> {
        Ok(Self { store, block, is_named, txn: store.read()? })
    }

    fn unknown(&self, mut lacks: Vec<Lack>) -> StateError {
        if self.is_named {
            lacks.push(Lack::After(self.block.number, self.block.hash));
        }
        StateError::Unknown(lacks)
    }

    /// The account; an error if it is not known.
    pub fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        let found = self.whole_account(address)?;
        Ok(found.map(|TrieAccount { nonce, balance, code_hash, .. }| Account { nonce, balance, code_hash }))
    }

    /// The slot's value; an error if it is not known.
    pub fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        let lack = || self.unknown(vec![Lack::Slot(*address, *slot)]);
        let account = match self.whole_account(address) {
            Err(StateError::Unknown(mut lacks)) => {
                lacks.push(Lack::Slot(*address, *slot));
                return Err(StateError::Unknown(lacks));
            }
            found => found?,
        };
        let root = account.map_or(EMPTY_ROOT_HASH, |account| account.storage_root);
        if root == EMPTY_ROOT_HASH {
            return Ok(U256::ZERO);
        }
        let row = self.store.slots.get(&self.txn, &slot_key(&root, &slot_name(slot)))?;
        row.map_or_else(|| Err(lack()), decode_value)
    }

    /// Whether the account has any storage; an error if it is not known.
    pub fn has_storage(&self, address: &Address) -> Result<bool, StateError> {
        let account = self.whole_account(address)?;
        Ok(account.is_some_and(|account| account.storage_root != EMPTY_ROOT_HASH))
    }

    /// The code with this hash, if it is known: an account is kept with its code.
    pub fn code(&self, hash: &B256) -> Result<Option<Bytes>, StateError> {
        let row = self.store.code.get(&self.txn, hash.as_slice())?;
        Ok(row.map(Bytes::copy_from_slice))
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
        let row = self.store.hashes.get(&self.txn, &hash_key(&block.hash, number))?;
        let found = row.map(|row| B256::try_from(row).map_err(|_| StateError::Corrupt("hash".into())));
        found.unwrap_or_else(|| Err(self.unknown(vec![Lack::BlockHash(number)])))
    }

    /// The trie's node with this hash, if it is known.
    pub fn node(&self, hash: &B256) -> Result<Option<&[u8]>, TrieError> {
        let unreadable = |error: heed::Error| TrieError::Store(Box::new(StateError::from(error)));
        self.store.nodes.get(&self.txn, hash.as_slice()).map_err(unreadable)
    }

    fn whole_account(&self, address: &Address) -> Result<Option<TrieAccount>, StateError> {
        let key = account_key(&self.block.state_root, address);
        match self.store.accounts.get(&self.txn, &key)? {
            None => Err(self.unknown(vec![Lack::Account(*address)])),
            Some([]) => Ok(None),
            Some(mut row) => Ok(Some(TrieAccount::decode(&mut row).map_err(TrieError::from)?)),
        }
    }
}
