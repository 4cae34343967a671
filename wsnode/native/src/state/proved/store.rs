//! Proved values on the disk, by keys that never come to mean anything else; bounded.
//!
//! ```text
//! accounts: state root (32) | address (20) -> RLP of the account; empty: there is none
//! slots:    storage root (32) | slot (32) -> value without leading zeros
//! code:     code hash (32) -> code
//! nodes:    hash (32) -> RLP of the trie's node
//! hashes:   hash of a block (32) | number of one before it (8) -> that one's hash (32)
//! ```

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use alloy_primitives::{keccak256, Address, Bytes, B256, U256};
use alloy_trie::{EMPTY_ROOT_HASH, KECCAK_EMPTY};
use heed::{Env, EnvFlags, MdbError, RoTxn, RwTxn, WithoutTls};

use super::proof::{Proved, Verified};
use crate::state::layout::account::encode_value;
use crate::state::layout::tables::create;
use crate::state::StateError;
use crate::store::{file, require_whole, Table};

/// The largest file, unless said otherwise: some three million slots.
const LIMIT: usize = 1 << 30;
const TABLES: [&str; 5] = ["accounts", "slots", "code", "nodes", "hashes"];

/// The stores that this process has open: LMDB must open a file once only.
static OPEN: LazyLock<Mutex<HashMap<PathBuf, Weak<ProvedStore>>>> = LazyLock::new(Mutex::default);

/// A file of proved values, of any number of states; several processes may share it.
#[derive(Debug)]
pub struct ProvedStore {
    env: Env<WithoutTls>,
    pub(super) accounts: Table,
    pub(super) slots: Table,
    pub(super) code: Table,
    pub(super) nodes: Table,
    pub(super) hashes: Table,
}

impl ProvedStore {
    /// Open the store in the folder `path`, which is made if it is not there.
    pub fn open(path: &Path) -> Result<Arc<Self>, StateError> {
        Self::open_sized(path, LIMIT)
    }

    pub(super) fn open_sized(path: &Path, limit: usize) -> Result<Arc<Self>, StateError> {
        std::fs::create_dir_all(path)?;
        let path = path.canonicalize()?;
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = open.get(&path).and_then(Weak::upgrade) {
            return Ok(store);
        }
        let store = Arc::new(Self::begin(&path, limit)?);
        open.insert(path, Arc::downgrade(&store));
        Ok(store)
    }

    fn begin(path: &Path, limit: usize) -> Result<Self, StateError> {
        // What a power cut loses is fetched again.
        let env = file::open(path, 8, EnvFlags::NO_META_SYNC, limit)?;
        require_whole(&env, path)?;
        let [accounts, slots, code, nodes, hashes] = create(&env, TABLES)?;
        Ok(Self { env, accounts, slots, code, nodes, hashes })
    }

    pub(super) fn read(&self) -> Result<RoTxn<'_, WithoutTls>, StateError> {
        Ok(file::reading(&self.env, || self.env.read_txn())?)
    }

    /// The code with this hash, if it is known.
    pub(super) fn code_of(&self, hash: &B256) -> Result<Option<Bytes>, StateError> {
        let txn = self.read()?;
        Ok(self.code.get(&txn, hash.as_slice())?.map(Bytes::copy_from_slice))
    }

    /// Verify values of the state with this root and keep them: all, or none if one is wrong.
    pub fn keep(&self, state_root: B256, proved: &[Proved]) -> Result<(), StateError> {
        let verified: Vec<_> = proved.iter().map(|each| each.verify(state_root)).collect::<Result<_, _>>()?;
        self.write(|txn| {
            for (each, values) in proved.iter().zip(&verified) {
                self.put(txn, state_root, each, values)?;
            }
            Ok(())
        })
    }

    /// Keep the hashes of blocks before the block `of`, which the caller has verified.
    pub fn keep_hashes(&self, of: B256, hashes: &[(u64, B256)]) -> Result<(), StateError> {
        self.write(|txn| {
            for (number, hash) in hashes {
                self.hashes.put(txn, &hash_key(&of, *number), hash.as_slice())?;
            }
            Ok(())
        })
    }

    fn put(
        &self,
        txn: &mut RwTxn<'_>,
        state_root: B256,
        proved: &Proved,
        verified: &Verified,
    ) -> Result<(), StateError> {
        let account = verified.account.as_ref();
        if let Some(code) = &proved.code {
            self.code.put(txn, keccak256(code).as_slice(), code)?;
        }
        let code_hash = account.map_or(KECCAK_EMPTY, |account| account.code_hash);
        if code_hash != KECCAK_EMPTY && self.code.get(txn, code_hash.as_slice())?.is_none() {
            return Err(StateError::WrongProof(format!("no code with the hash {code_hash}")));
        }
        let row = account.map(alloy_rlp::encode).unwrap_or_default();
        self.accounts.put(txn, &account_key(&state_root, &proved.address), &row)?;
        let storage_root = account.map_or(EMPTY_ROOT_HASH, |account| account.storage_root);
        for (slot, value) in &verified.slots {
            let mut row = Vec::with_capacity(32);
            encode_value(value, &mut row);
            self.slots.put(txn, &slot_key(&storage_root, slot), &row)?;
        }
        for node in proved.slots.iter().flat_map(|(_, nodes)| nodes).chain(&proved.nodes) {
            self.nodes.put(txn, keccak256(node).as_slice(), node)?;
        }
        Ok(())
    }

    /// Write; a full store is emptied first, for all of it can be fetched again.
    fn write(&self, change: impl Fn(&mut RwTxn<'_>) -> Result<(), StateError>) -> Result<(), StateError> {
        match self.attempt(&change) {
            Err(StateError::Lmdb(heed::Error::Mdb(MdbError::MapFull))) => {
                self.attempt(|txn| {
                    let tables = [self.accounts, self.slots, self.code, self.nodes, self.hashes];
                    Ok(tables.iter().try_for_each(|table| table.clear(txn))?)
                })?;
                self.attempt(&change)
            }
            done => done,
        }
    }

    fn attempt(&self, change: impl Fn(&mut RwTxn<'_>) -> Result<(), StateError>) -> Result<(), StateError> {
        let mut txn = self.env.write_txn()?;
        change(&mut txn)?;
        Ok(txn.commit()?)
    }
}

pub(super) fn account_key(state_root: &B256, address: &Address) -> [u8; 52] {
    let mut key = [0; 52];
    key[..32].copy_from_slice(state_root.as_slice());
    key[32..].copy_from_slice(address.as_slice());
    key
}

pub(super) fn slot_key(storage_root: &B256, slot: &B256) -> [u8; 64] {
    let mut key = [0; 64];
    key[..32].copy_from_slice(storage_root.as_slice());
    key[32..].copy_from_slice(slot.as_slice());
    key
}

pub(super) fn hash_key(of: &B256, number: u64) -> [u8; 40] {
    let mut key = [0; 40];
    key[..32].copy_from_slice(of.as_slice());
    key[32..].copy_from_slice(&number.to_be_bytes());
    key
}

/// A slot's number as the trie's keys are made of it.
pub(super) fn slot_name(slot: &U256) -> B256 {
    B256::from(slot.to_be_bytes::<32>())
}
