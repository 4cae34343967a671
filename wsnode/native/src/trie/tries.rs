//! Trie of accounts and the storage tries under it, moved together from block to block.

use super::rows::NodeRows;
use super::store::{NodeStore, TrieError};
use super::Trie;
use alloy_primitives::map::{B256Map, B256Set};
use alloy_primitives::{Bytes, B256, U256};
use alloy_rlp::{Decodable, Encodable};
use alloy_trie::{Nibbles, TrieAccount, EMPTY_ROOT_HASH};

/// Update of an account. Its storage root follows from its slots.
#[derive(Debug, Clone, Copy)]
pub enum AccountUpdate {
    Unchanged,
    Removed,
    Set { nonce: u64, balance: U256, code_hash: B256 },
}

/// Change of one account. All slots of a removed account must be set to zero, unless it is emptied.
#[derive(Debug)]
pub struct AccountChange {
    pub hashed_address: B256,
    pub update: AccountUpdate,
    /// True if its storage is emptied before the slots are set. Only tries that are never written may use it,
    /// because the rows of the old nodes are not deleted.
    pub is_emptied: bool,
    /// Hashed slots and their new values.
    pub slots: Vec<(B256, U256)>,
}

#[derive(Debug)]
pub struct StateTries {
    accounts: Trie,
    storage: B256Map<LoadedTrie>,
    /// Owners of storage tries with unsaved nodes.
    unsaved: B256Set,
    /// Upper bound of the storage tries' nodes in memory.
    held: usize,
    /// Number of calls of `apply`, by which the age of a storage trie's last use is known.
    clock: u64,
    encoded: Vec<u8>,
}

#[derive(Debug)]
struct LoadedTrie {
    trie: Trie,
    at: u64,
}

impl StateTries {
    /// Return the state with this root, without any loaded node.
    pub fn new(root: B256) -> Self {
        Self {
            accounts: Trie::new(None, root),
            storage: B256Map::default(),
            unsaved: B256Set::default(),
            held: 0,
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

    fn apply_account(&mut self, store: &impl NodeStore, change: &AccountChange) -> Result<(), TrieError> {
        let path = Nibbles::unpack_array(&change.hashed_address.0);
        let mut account = decode(self.accounts.get(store, &path)?)?.unwrap_or_default();
        if change.is_emptied {
            self.empty_storage(change.hashed_address);
            account.storage_root = EMPTY_ROOT_HASH;
        }
        account.storage_root = self.storage_root(store, change, account.storage_root)?;
        if matches!(change.update, AccountUpdate::Removed) {
            return self.accounts.remove(store, &path);
        }
        if let AccountUpdate::Set { nonce, balance, code_hash } = change.update {
            account = TrieAccount { nonce, balance, code_hash, ..account };
        }
        self.encoded.clear();
        account.encode(&mut self.encoded);
        self.accounts.set(store, &path, &self.encoded)
    }

    fn empty_storage(&mut self, owner: B256) {
        let empty = LoadedTrie { trie: Trie::new(Some(owner), EMPTY_ROOT_HASH), at: self.clock };
        self.held -= self.storage.insert(owner, empty).map_or(0, |used| used.trie.held());
    }

    /// Return the storage root after the change. `root` is the one before it.
    fn storage_root(
        &mut self,
        store: &impl NodeStore,
        change: &AccountChange,
        root: B256,
    ) -> Result<B256, TrieError> {
        if change.slots.is_empty() {
            return Ok(root);
        }
        let (clock, owner) = (self.clock, change.hashed_address);
        let mut paths = change.slots.iter().map(|(slot, value)| (Nibbles::unpack_array(&slot.0), value));
        let root = self.with_storage(owner, root, |used| {
            used.at = clock;
            paths.try_for_each(|(path, value)| {
                if value.is_zero() {
                    return used.trie.remove(store, &path);
                }
                used.trie.set(store, &path, &alloy_rlp::encode_fixed_size(value))
            })?;
            Ok(used.trie.root())
        })?;
        self.unsaved.insert(owner);
        Ok(root)
    }

    /// Run `operate` on the storage trie of `owner`, begun from `root` if it is not in memory.
    fn with_storage<T>(
        &mut self,
        owner: B256,
        root: B256,
        operate: impl FnOnce(&mut LoadedTrie) -> Result<T, TrieError>,
    ) -> Result<T, TrieError> {
        let begin = || LoadedTrie { trie: Trie::new(Some(owner), root), at: 0 };
        let used = self.storage.entry(owner).or_insert_with(begin);
        self.held -= used.trie.held();
        let done = operate(used);
        self.held += used.trie.held();
        done
    }

    /// Return an upper bound of the nodes of all tries in memory.
    pub fn held(&self) -> usize {
        self.accounts.held() + self.held
    }

    /// Return the account in its trie, with its storage root, or None.
    pub fn account(
        &mut self,
        store: &impl NodeStore,
        hashed_address: &B256,
    ) -> Result<Option<TrieAccount>, TrieError> {
        decode(self.accounts.get(store, &Nibbles::unpack_array(&hashed_address.0))?)
    }

    pub fn account_proof(
        &mut self,
        store: &impl NodeStore,
        hashed_address: &B256,
    ) -> Result<Vec<Bytes>, TrieError> {
        self.accounts.proof(store, &Nibbles::unpack_array(&hashed_address.0))
    }

    /// Return the nodes that prove a slot of an account.
    pub fn slot_proof(
        &mut self,
        store: &impl NodeStore,
        hashed_address: &B256,
        hashed_slot: &B256,
    ) -> Result<Vec<Bytes>, TrieError> {
        let root =
            self.account(store, hashed_address)?.map_or(EMPTY_ROOT_HASH, |account| account.storage_root);
        let path = Nibbles::unpack_array(&hashed_slot.0);
        self.with_storage(*hashed_address, root, |used| used.trie.proof(store, &path))
    }

    /// Return the rows that bring the store to this state.
    pub fn rows(&mut self) -> Vec<NodeRows> {
        let storage = self.unsaved.iter().filter_map(|owner| Some(self.storage.get_mut(owner)?.trie.rows()));
        let mut rows: Vec<_> = storage.collect();
        rows.push(self.accounts.rows());
        rows
    }

    /// Mark all nodes as saved while their rows are being written. `shrink` must not be called before these
    /// are committed.
    pub fn saved(&mut self) {
        for owner in self.unsaved.drain() {
            if let Some(used) = self.storage.get_mut(&owner) {
                used.trie.saved();
            }
        }
        self.accounts.saved();
    }

    /// Drop the saved storage tries with the oldest last use until half of `limit` nodes are left, if more
    /// than `limit` are in memory.
    pub fn shrink(&mut self, limit: usize) {
        if self.held() > limit {
            self.drop_nodes(limit / 2);
        }
    }

    fn drop_nodes(&mut self, limit: usize) {
        let resting = self.storage.iter().filter(|(owner, _)| !self.unsaved.contains(*owner));
        let mut ages: Vec<_> = resting.map(|(owner, used)| (used.at, *owner)).collect();
        ages.sort_unstable();
        for (_, owner) in ages {
            if self.held() <= limit {
                return;
            }
            self.held -= self.storage.remove(&owner).map_or(0, |used| used.trie.held());
        }
        if self.held() > limit {
            self.accounts.unload();
        }
    }
}

fn decode(leaf: Option<&[u8]>) -> Result<Option<TrieAccount>, TrieError> {
    leaf.map(|mut leaf| TrieAccount::decode(&mut leaf).map_err(TrieError::from)).transpose()
}
