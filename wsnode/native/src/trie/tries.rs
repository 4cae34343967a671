//! The trie of accounts and the storage tries under it, moved from block to block together.

use super::rows::NodeRows;
use super::store::{NodeStore, TrieError};
use super::Trie;
use alloy_primitives::map::B256Map;
use alloy_primitives::{Bytes, B256, U256};
use alloy_rlp::{Decodable, Encodable};
use alloy_trie::{Nibbles, TrieAccount, EMPTY_ROOT_HASH};

/// What becomes of an account; its storage root follows from its slots.
#[derive(Debug, Clone, Copy)]
pub enum Fate {
    Kept,
    Removed,
    Set {
        nonce: u64,
        balance: U256,
        code_hash: B256,
    },
}

/// The change of one account. A removed account's slots must all be set to zero.
#[derive(Debug)]
pub struct AccountChange {
    pub hashed_address: B256,
    pub fate: Fate,
    /// Hashed slots and their new values.
    pub slots: Vec<(B256, U256)>,
}

/// All tries of one state.
#[derive(Debug)]
pub struct StateTries {
    accounts: Trie,
    storage: B256Map<Used>,
    /// Counts the calls of `apply`, to know which storage tries rest.
    clock: u64,
    encoded: Vec<u8>,
}

#[derive(Debug)]
struct Used {
    trie: Trie,
    at: u64,
}

impl StateTries {
    /// The state with this root, nothing of it loaded.
    pub fn new(root: B256) -> Self {
        let accounts = Trie::new(None, root);
        Self {
            accounts,
            storage: B256Map::default(),
            clock: 0,
            encoded: Vec::new(),
        }
    }

    /// Apply the changes and return the state root. After an error the tries must be dropped.
    pub fn apply(
        &mut self,
        store: &impl NodeStore,
        changes: impl IntoIterator<Item = AccountChange>,
    ) -> Result<B256, TrieError> {
        self.clock += 1;
        for change in changes {
            self.apply_account(store, &change)?;
        }
        Ok(self.accounts.root())
    }

    fn apply_account(
        &mut self,
        store: &impl NodeStore,
        change: &AccountChange,
    ) -> Result<(), TrieError> {
        let path = Nibbles::unpack_array(&change.hashed_address.0);
        let mut account = decode(self.accounts.get(store, &path)?)?.unwrap_or_default();
        account.storage_root = self.storage_root(store, change, account.storage_root)?;
        if matches!(change.fate, Fate::Removed) {
            return self.accounts.remove(store, &path);
        }
        if let Fate::Set {
            nonce,
            balance,
            code_hash,
        } = change.fate
        {
            account = TrieAccount {
                nonce,
                balance,
                code_hash,
                ..account
            };
        }
        self.encoded.clear();
        account.encode(&mut self.encoded);
        self.accounts.set(store, &path, &self.encoded)
    }

    /// The storage root after the change, `root` being the one before.
    fn storage_root(
        &mut self,
        store: &impl NodeStore,
        change: &AccountChange,
        root: B256,
    ) -> Result<B256, TrieError> {
        if change.slots.is_empty() {
            return Ok(root);
        }
        let owner = change.hashed_address;
        let used = self.storage.entry(owner).or_insert_with(|| Used {
            trie: Trie::new(Some(owner), root),
            at: 0,
        });
        used.at = self.clock;
        for (slot, value) in &change.slots {
            let path = Nibbles::unpack_array(&slot.0);
            if value.is_zero() {
                used.trie.remove(store, &path)?;
            } else {
                used.trie
                    .set(store, &path, &alloy_rlp::encode_fixed_size(value))?;
            }
        }
        Ok(used.trie.root())
    }

    /// The account in its trie, with its storage root.
    pub fn account(
        &mut self,
        store: &impl NodeStore,
        hashed_address: &B256,
    ) -> Result<Option<TrieAccount>, TrieError> {
        decode(
            self.accounts
                .get(store, &Nibbles::unpack_array(&hashed_address.0))?,
        )
    }

    /// The nodes that prove an account.
    pub fn account_proof(
        &mut self,
        store: &impl NodeStore,
        hashed_address: &B256,
    ) -> Result<Vec<Bytes>, TrieError> {
        self.accounts
            .proof(store, &Nibbles::unpack_array(&hashed_address.0))
    }

    /// The nodes that prove a slot of an account.
    pub fn slot_proof(
        &mut self,
        store: &impl NodeStore,
        hashed_address: &B256,
        hashed_slot: &B256,
    ) -> Result<Vec<Bytes>, TrieError> {
        let root = self
            .account(store, hashed_address)?
            .map_or(EMPTY_ROOT_HASH, |account| account.storage_root);
        let owner = *hashed_address;
        let used = self.storage.entry(owner).or_insert_with(|| Used {
            trie: Trie::new(Some(owner), root),
            at: 0,
        });
        used.trie
            .proof(store, &Nibbles::unpack_array(&hashed_slot.0))
    }

    /// The rows that bring the store to this state.
    pub fn rows(&mut self) -> Vec<NodeRows> {
        let storage = self.storage.values_mut().map(|used| &mut used.trie);
        let rows = storage.chain([&mut self.accounts]).map(Trie::rows);
        rows.filter(|rows| !rows.written.is_empty() || !rows.deleted.is_empty())
            .collect()
    }

    /// Note that the rows were written, and keep at most `limit` nodes in memory: storage tries that
    /// rested longest go first.
    pub fn saved(&mut self, limit: usize) {
        self.storage.values_mut().for_each(|used| used.trie.saved());
        self.accounts.saved();
        if self.held() > limit {
            self.shrink(limit / 2);
        }
    }

    fn shrink(&mut self, limit: usize) {
        let mut ages: Vec<_> = self
            .storage
            .iter()
            .map(|(owner, used)| (used.at, *owner))
            .collect();
        ages.sort_unstable();
        let mut held = self.held();
        for (_, owner) in ages {
            if held <= limit {
                return;
            }
            held -= self
                .storage
                .remove(&owner)
                .map_or(0, |used| used.trie.held());
        }
        if held > limit {
            self.accounts.unload();
        }
    }

    /// Nodes in memory, at most.
    pub fn held(&self) -> usize {
        self.accounts.held()
            + self
                .storage
                .values()
                .map(|used| used.trie.held())
                .sum::<usize>()
    }
}

fn decode(leaf: Option<&[u8]>) -> Result<Option<TrieAccount>, TrieError> {
    leaf.map(|mut leaf| TrieAccount::decode(&mut leaf).map_err(TrieError::from))
        .transpose()
}
