//! Tables, schema version, and rows of `meta` and `hashes`.

use crate::state::StateError;
use crate::store::{ReadTxn, StoreError, Table, WriteTxn};
use alloy_primitives::B256;

/// Version of this layout.
pub const SCHEMA: u32 = 2;

/// Tables of the state; `docs/reference/storage.md` describes keys and values.
#[derive(Debug)]
pub struct Tables {
    pub meta: Table,
    pub accounts: Table,
    pub storage: Table,
    pub code: Table,
    pub changes: Table,
    pub hashes: Table,
    pub account_nodes: Table,
    pub storage_nodes: Table,
}

const NAMES: [&str; 8] =
    ["meta", "accounts", "storage", "code", "changes", "hashes", "account_nodes", "storage_nodes"];

/// Block with its hash and state root, such as the head of the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Head {
    pub number: u64,
    pub hash: B256,
    pub state_root: B256,
}

impl Tables {
    /// Return the tables of an environment that was opened with `names`.
    pub fn new() -> Self {
        let [meta, accounts, storage, code, changes, hashes, account_nodes, storage_nodes] =
            Table::first_ones();
        Self { meta, accounts, storage, code, changes, hashes, account_nodes, storage_nodes }
    }

    /// Return each table with its name.
    pub fn named(&self) -> [(&'static str, Table); NAMES.len()] {
        std::array::from_fn(|index| (NAMES[index], Table::at(index)))
    }

    /// Return the names of the tables, in the order of their creation.
    pub fn names() -> Vec<String> {
        NAMES.map(String::from).to_vec()
    }

    /// Return the schema version of a store; None before a writer has initialised it.
    ///
    /// Fail with `OldSchema` if the row has no valid checksum: rows of version 1 have none.
    pub fn schema(&self, txn: &ReadTxn<'_>) -> Result<Option<u32>, StateError> {
        let row = match self.meta.get(txn, b"schema") {
            Err(StoreError::DamagedRow(_)) => return Err(StateError::OldSchema { known: SCHEMA }),
            row => row?,
        };
        row.map(|row| row.try_into().map(u32::from_be_bytes).map_err(|_| corrupt("schema"))).transpose()
    }

    pub fn put_schema(&self, txn: &mut WriteTxn<'_>) -> Result<(), StateError> {
        Ok(self.meta.put(txn, b"schema", &SCHEMA.to_be_bytes())?)
    }

    /// Check that a store's schema version is the known one, else fail with `UnknownSchema`.
    pub fn require_schema(&self, found: u32) -> Result<(), StateError> {
        match found {
            SCHEMA => Ok(()),
            found => Err(StateError::UnknownSchema { found, known: SCHEMA }),
        }
    }

    /// Return the committed head; None before the genesis state is written.
    pub fn head(&self, txn: &ReadTxn<'_>) -> Result<Option<Head>, StateError> {
        let Some(row) = self.meta.get(txn, b"head")? else {
            return Ok(None);
        };
        let (number, rest) = row.split_first_chunk().ok_or_else(|| corrupt("head"))?;
        let (hash, state_root) = hashes(rest)?;
        Ok(Some(Head { number: u64::from_be_bytes(*number), hash, state_root }))
    }

    pub fn put_head(&self, txn: &mut WriteTxn<'_>, head: &Head) -> Result<(), StateError> {
        let row = [&head.number.to_be_bytes()[..], &head.hash[..], &head.state_root[..]].concat();
        Ok(self.meta.put(txn, b"head", &row)?)
    }

    /// Return the number of the first block with a readable state, 0 if none was pruned.
    pub fn earliest(&self, txn: &ReadTxn<'_>) -> Result<u64, StateError> {
        let row = self.meta.get(txn, b"earliest")?;
        row.map_or(Ok(0), |row| row.try_into().map(u64::from_be_bytes).map_err(|_| corrupt("earliest")))
    }

    pub fn put_earliest(&self, txn: &mut WriteTxn<'_>, number: u64) -> Result<(), StateError> {
        Ok(self.meta.put(txn, b"earliest", &number.to_be_bytes())?)
    }

    pub fn genesis_hash(&self, txn: &ReadTxn<'_>) -> Result<Option<B256>, StateError> {
        let row = self.meta.get(txn, b"genesis")?;
        row.map(|row| B256::try_from(row).map_err(|_| corrupt("genesis"))).transpose()
    }

    /// Return the hash and state root of block `number`; None if it is not stored.
    pub fn block(&self, txn: &ReadTxn<'_>, number: u64) -> Result<Option<Head>, StateError> {
        let Some(row) = self.hashes.get(txn, &number.to_be_bytes())? else {
            return Ok(None);
        };
        let (hash, state_root) = hashes(row)?;
        Ok(Some(Head { number, hash, state_root }))
    }

    pub fn put_block(&self, txn: &mut WriteTxn<'_>, block: &Head) -> Result<(), StateError> {
        let row = [block.hash, block.state_root].concat();
        Ok(self.hashes.put(txn, &block.number.to_be_bytes(), &row)?)
    }
}

fn hashes(row: &[u8]) -> Result<(B256, B256), StateError> {
    match row.split_first_chunk::<32>() {
        Some((hash, root)) if root.len() == 32 => Ok((B256::from(hash), B256::from_slice(root))),
        _ => Err(corrupt("block")),
    }
}

fn corrupt(what: &str) -> StateError {
    StateError::Corrupt(format!("row of the {what}"))
}
