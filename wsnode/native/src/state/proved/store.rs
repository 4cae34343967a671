//! Proved values on the disk, by keys that never come to mean anything else; bounded.
//!
//! ```text
//! accounts: state root (32) | address (20) -> RLP of the account; empty: there is none
//! slots:    storage root (32) | slot (32) -> value without leading zeros
//! code:     code hash (32) -> code
//! nodes:    hash (32) -> RLP of the trie's node
//! hashes:   hash of a block (32) | number of one before it (8) -> that one's hash (32)
//! carried_accounts: state root (32) | address (20) -> row of the account without its storage root; empty: none
//! carried_slots:    state root (32) | address (20) | slot (32) -> value without leading zeros
//! ```

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use alloy_primitives::{keccak256, Address, Bytes, B256, U256};
use alloy_rlp::Decodable;
use alloy_trie::{TrieAccount, EMPTY_ROOT_HASH, KECCAK_EMPTY};
use heed::MdbError;

use super::proof::{Proved, Verified};
use crate::state::error::Miss;
use crate::state::layout::account::{decode_value, encode_value, Account};
use crate::state::StateError;
use crate::store::{
    file, Durability, Environment, FileError, Opening, PinnedTxn, ReadTxn, StoreError, Table, WriteTxn,
};
use crate::trie::TrieError;

/// Default bytes of the file's map: some three million slots.
const LIMIT: usize = 1 << 30;
const TABLES: [&str; 7] =
    ["accounts", "slots", "code", "nodes", "hashes", "carried_accounts", "carried_slots"];

/// Stores open in this process by path: LMDB must open a file once only.
static OPEN: LazyLock<Mutex<HashMap<PathBuf, Weak<ProvedStore>>>> = LazyLock::new(Mutex::default);

/// File of proved values of any number of states; several processes may share it.
#[derive(Debug)]
pub struct ProvedStore {
    environment: Environment,
    pub(super) accounts: Table,
    pub(super) slots: Table,
    pub(super) code: Table,
    pub(super) nodes: Table,
    pub(super) hashes: Table,
    carried_accounts: Table,
    carried_slots: Table,
    /// True once a row of code cannot be read.
    is_damaged: AtomicBool,
}

/// Value without a proof of its own, derived from an earlier one by block access lists.
#[derive(Debug)]
pub(super) enum Carried {
    /// Account, None if it does not exist, and its code if a list named it.
    Account(Option<Account>, Option<Bytes>),
    Slot(U256),
}

impl ProvedStore {
    /// Open the store in the folder `path`, created if it is missing.
    pub fn open(path: &Path) -> Result<Arc<Self>, StateError> {
        Self::open_sized(path, LIMIT)
    }

    pub(super) fn open_sized(path: &Path, limit: usize) -> Result<Arc<Self>, StateError> {
        file::make_folder(path)?;
        let path = path.canonicalize().map_err(|reason| FileError::new(path, reason))?;
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = open.get(&path).and_then(Weak::upgrade) {
            return Ok(store);
        }
        let store = Arc::new(Self::begin(&path, limit)?);
        open.insert(path, Arc::downgrade(&store));
        Ok(store)
    }

    fn begin(path: &Path, limit: usize) -> Result<Self, StateError> {
        let opening = Opening {
            path: path.to_owned(),
            names: TABLES.map(String::from).to_vec(),
            writer: true,
            // Values that a power failure destroys are fetched again.
            durability: Durability::NoMetaSync,
            map_size: limit,
            grows: false,
        };
        let environment = Environment::open(opening)?;
        let [accounts, slots, code, nodes, hashes, carried_accounts, carried_slots] = Table::first_ones();
        let is_damaged = AtomicBool::new(false);
        Ok(Self {
            environment,
            accounts,
            slots,
            code,
            nodes,
            hashes,
            carried_accounts,
            carried_slots,
            is_damaged,
        })
    }

    pub(super) fn read(&self) -> Result<PinnedTxn, StateError> {
        Ok(self.environment.read_alone().map_err(|error| self.environment.explained(error))?)
    }

    /// Return the account with its storage root in the state with `state_root`: None if it is not proved,
    /// `Some(None)` if its absence is proved.
    pub(super) fn proved_account(
        &self,
        txn: &ReadTxn<'_>,
        state_root: &B256,
        address: &Address,
    ) -> Result<Option<Option<TrieAccount>>, StateError> {
        match self.account_row(self.accounts, txn, &account_key(state_root, address))? {
            None => Ok(None),
            Some([]) => Ok(Some(None)),
            Some(mut row) => Ok(Some(Some(TrieAccount::decode(&mut row).map_err(TrieError::from)?))),
        }
    }

    /// Return the account in the state with `state_root`, proved or carried: None if it is not known,
    /// `Some(None)` if it does not exist.
    pub(super) fn account(
        &self,
        txn: &ReadTxn<'_>,
        state_root: &B256,
        address: &Address,
    ) -> Result<Option<Option<Account>>, StateError> {
        if let Some(proved) = self.proved_account(txn, state_root, address)? {
            let plain = |TrieAccount { nonce, balance, code_hash, .. }| Account { nonce, balance, code_hash };
            return Ok(Some(proved.map(plain)));
        }
        let row = self.account_row(self.carried_accounts, txn, &account_key(state_root, address))?;
        row.map(Account::decode).transpose()
    }

    /// Return the value of a slot in the state with `state_root`, proved or carried; None if it is not known.
    pub(super) fn slot(
        &self,
        txn: &ReadTxn<'_>,
        state_root: &B256,
        address: &Address,
        slot: &U256,
    ) -> Result<Option<U256>, StateError> {
        match self.proved_slot(txn, state_root, address, slot)? {
            None => {
                let row = known(self.carried_slots, txn, &carried_slot_key(state_root, address, slot))?;
                row.map(decode_value).transpose()
            }
            found => Ok(found),
        }
    }

    /// Return the value of a slot in the state with `state_root`; None if it is not proved.
    pub(super) fn proved_slot(
        &self,
        txn: &ReadTxn<'_>,
        state_root: &B256,
        address: &Address,
        slot: &U256,
    ) -> Result<Option<U256>, StateError> {
        let Some(account) = self.proved_account(txn, state_root, address)? else {
            return Ok(None);
        };
        match account.map_or(EMPTY_ROOT_HASH, |account| account.storage_root) {
            EMPTY_ROOT_HASH => Ok(Some(U256::ZERO)),
            root => known(self.slots, txn, &slot_key(&root, &slot_name(slot)))?.map(decode_value).transpose(),
        }
    }

    /// Return the account or slot named by `miss` in the state with `state_root`; None if it is not known,
    /// and for other kinds.
    pub(super) fn value(
        &self,
        txn: &ReadTxn<'_>,
        state_root: &B256,
        miss: &Miss,
    ) -> Result<Option<Carried>, StateError> {
        Ok(match miss {
            Miss::Account(address) => {
                self.account(txn, state_root, address)?.map(|account| Carried::Account(account, None))
            }
            Miss::Slot(address, slot) => self.slot(txn, state_root, address, slot)?.map(Carried::Slot),
            Miss::BlockHash(_) | Miss::After(..) => None,
        })
    }

    /// Keep values of the state with `state_root`, and return those not kept because their code is not known.
    pub(super) fn keep_carried(
        &self,
        state_root: B256,
        carried: &[(Miss, Carried)],
    ) -> Result<Vec<Miss>, StateError> {
        if carried.is_empty() {
            return Ok(Vec::new());
        }
        self.write(|txn| {
            let mut others = Vec::new();
            for (miss, value) in carried {
                if !self.put_carried(txn, &state_root, miss, value)? {
                    others.push(*miss);
                }
            }
            Ok(others)
        })
    }

    fn put_carried(
        &self,
        txn: &mut WriteTxn<'_>,
        state_root: &B256,
        miss: &Miss,
        value: &Carried,
    ) -> Result<bool, StateError> {
        let mut row = Vec::with_capacity(32);
        match (miss, value) {
            (Miss::Account(address), Carried::Account(account, code)) => {
                if let Some(code) = code {
                    self.code.put(txn, keccak256(code).as_slice(), code)?;
                }
                let code_hash = account.map_or(KECCAK_EMPTY, |account| account.code_hash);
                if !self.has_code(txn, &code_hash)? {
                    return Ok(false);
                }
                if let Some(account) = account {
                    account.encode(&mut row);
                }
                self.carried_accounts.put(txn, &account_key(state_root, address), &row)?;
            }
            (Miss::Slot(address, slot), Carried::Slot(value)) => {
                encode_value(value, &mut row);
                self.carried_slots.put(txn, &carried_slot_key(state_root, address, slot), &row)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Return true if the code is stored, or is the empty code.
    fn has_code(&self, txn: &WriteTxn<'_>, code_hash: &B256) -> Result<bool, StateError> {
        Ok(*code_hash == KECCAK_EMPTY || known(self.code, txn, code_hash.as_slice())?.is_some())
    }

    pub(super) fn code_of(&self, hash: &B256) -> Result<Option<Bytes>, StateError> {
        self.code_in(&*self.read()?, hash)
    }

    /// Return the code with this hash; None if it is not stored.
    ///
    /// If its row is damaged, all accounts count as unknown until the next write empties the store, because
    /// each account is stored with its code.
    pub(super) fn code_in(&self, txn: &ReadTxn<'_>, hash: &B256) -> Result<Option<Bytes>, StateError> {
        let found = self.code.get(txn, hash.as_slice());
        if let Err(StoreError::DamagedRow(_)) = found {
            self.is_damaged.store(true, Ordering::Relaxed);
        }
        Ok(found?.map(Bytes::copy_from_slice))
    }

    /// Verify values of the state with `state_root` and keep them all, or none if one is wrong.
    pub fn keep(&self, state_root: B256, proved: &[Proved]) -> Result<(), StateError> {
        let verified: Vec<_> = proved.iter().map(|each| each.verify(state_root)).collect::<Result<_, _>>()?;
        self.write(|txn| {
            for (each, values) in proved.iter().zip(&verified) {
                self.put(txn, state_root, each, values)?;
            }
            Ok(())
        })
    }

    /// Keep the hashes of ancestors of the block `of`, verified by the caller, each with its number.
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
        txn: &mut WriteTxn<'_>,
        state_root: B256,
        proved: &Proved,
        verified: &Verified,
    ) -> Result<(), StateError> {
        let account = verified.account.as_ref();
        if let Some(code) = &proved.code {
            self.code.put(txn, keccak256(code).as_slice(), code)?;
        }
        let code_hash = account.map_or(KECCAK_EMPTY, |account| account.code_hash);
        if !self.has_code(txn, &code_hash)? {
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

    /// Return the row of an account; None if it is not stored, and for all accounts while a row of code
    /// cannot be read.
    fn account_row<'t>(
        &self,
        table: Table,
        txn: &'t ReadTxn<'_>,
        key: &[u8],
    ) -> Result<Option<&'t [u8]>, StoreError> {
        if self.is_damaged.load(Ordering::Relaxed) {
            return Ok(None);
        }
        known(table, txn, key)
    }

    /// Commit `change`. A full or damaged store is emptied first, for all of its values can be fetched again.
    fn write<T>(&self, change: impl Fn(&mut WriteTxn<'_>) -> Result<T, StateError>) -> Result<T, StateError> {
        let durability = Durability::NoMetaSync;
        if self.is_damaged.load(Ordering::Relaxed) {
            self.clear()?;
            self.is_damaged.store(false, Ordering::Relaxed);
        }
        match self.environment.change(durability, &change) {
            Err(StateError::Store(
                StoreError::Unusable { reason: heed::Error::Mdb(MdbError::MapFull), .. }
                | StoreError::DamagedRow(_),
            )) => {
                self.clear()?;
                self.environment.change(durability, &change)
            }
            done => done,
        }
    }

    fn clear(&self) -> Result<(), StateError> {
        self.environment.change(Durability::NoMetaSync, |txn| {
            let carried = [self.carried_accounts, self.carried_slots];
            let proved = [self.accounts, self.slots, self.code, self.nodes, self.hashes];
            Ok(proved.iter().chain(&carried).try_for_each(|table| table.clear(txn))?)
        })
    }
}

/// Return the value at `key`; None if it is not stored or damaged, so that it is fetched again.
pub(super) fn known<'t>(
    table: Table,
    txn: &'t ReadTxn<'_>,
    key: &[u8],
) -> Result<Option<&'t [u8]>, StoreError> {
    match table.get(txn, key) {
        Err(StoreError::DamagedRow(_)) => Ok(None),
        found => found,
    }
}

fn account_key(state_root: &B256, address: &Address) -> [u8; 52] {
    let mut key = [0; 52];
    key[..32].copy_from_slice(state_root.as_slice());
    key[32..].copy_from_slice(address.as_slice());
    key
}

fn carried_slot_key(state_root: &B256, address: &Address, slot: &U256) -> [u8; 84] {
    let mut key = [0; 84];
    key[..52].copy_from_slice(&account_key(state_root, address));
    key[52..].copy_from_slice(slot_name(slot).as_slice());
    key
}

fn slot_key(storage_root: &B256, slot: &B256) -> [u8; 64] {
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

/// Return the slot's number as 32 bytes big-endian, whose hash is its key in the trie.
fn slot_name(slot: &U256) -> B256 {
    B256::from(slot.to_be_bytes::<32>())
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::os::unix::fs::FileExt;

    use super::*;

    /// Change the last byte of `row` wherever a file has it.
    fn damage(file: &Path, row: &[u8]) {
        let content = std::fs::read(file).unwrap();
        let places = content.windows(row.len()).enumerate().filter(|(_, found)| *found == row);
        let opened = OpenOptions::new().write(true).open(file).unwrap();
        let changed = places
            .map(|(place, _)| opened.write_all_at(&[!row[row.len() - 1]], (place + row.len() - 1) as u64));
        assert!(changed.map(Result::unwrap).count() > 0, "the file has no such row");
    }

    #[test]
    fn damaged_values_are_unknown_until_they_are_kept_again() {
        let folder = std::env::temp_dir().join(format!("wsnode-proved-{}", std::process::id()));
        let store = ProvedStore::open_sized(&folder, 1 << 20).unwrap();
        let (root, address, slot) = (B256::repeat_byte(1), Address::repeat_byte(2), U256::from(3));
        let code = Bytes::from(vec![0x5b; 3000]);
        let account = Account { nonce: 7, balance: U256::MAX, code_hash: keccak256(&code) };
        let (of_account, of_slot) = (Miss::Account(address), Miss::Slot(address, slot));
        let values = || {
            let account = Carried::Account(Some(account), Some(code.clone()));
            vec![(of_account, account), (of_slot, Carried::Slot(U256::MAX))]
        };
        let knows_account = || store.account(&store.read().unwrap(), &root, &address).unwrap().is_some();
        let slot_key = carried_slot_key(&root, &address, &slot);
        let knows_slot = || known(store.carried_slots, &store.read().unwrap(), &slot_key).unwrap().is_some();
        assert!(store.keep_carried(root, &values()).unwrap().is_empty());
        assert_eq!((knows_account(), knows_slot()), (true, true));

        damage(&folder.join("data.mdb"), &[&slot_key[..], &[0xff; 32]].concat());
        damage(&folder.join("data.mdb"), &code);
        assert_eq!((knows_account(), knows_slot()), (true, false));
        let refused = store.code_of(&account.code_hash).unwrap_err();
        assert!(matches!(refused, StateError::Store(StoreError::DamagedRow(row)) if row.table == "code"));
        assert!(!knows_account(), "an account is kept with its code");

        assert!(store.keep_carried(root, &values()).unwrap().is_empty());
        assert_eq!((knows_account(), knows_slot()), (true, true));
        assert_eq!(store.code_of(&account.code_hash).unwrap(), Some(code.clone()));
        drop(store);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
