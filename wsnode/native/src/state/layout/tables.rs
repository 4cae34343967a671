//! Tables, and rows of `hashes`.

use crate::state::StateError;
use crate::store::{KeyValue, ReadTxn, Table, WriteTxn};
use alloy_primitives::B256;

pub const NAMES: [&str; 8] =
    ["accounts", "storage", "code", "changes", "hashes", "account_nodes", "storage_nodes", "patches"];

/// Name of the chain's table with the number of its first block.
const META: &str = "meta";

/// Tables of the state; `docs/reference/storage.md` describes keys and values.
#[derive(Debug, Clone, Copy)]
pub struct Tables {
    pub meta: Table,
    pub accounts: Table,
    pub storage: Table,
    pub code: Table,
    pub changes: Table,
    pub hashes: Table,
    pub account_nodes: Table,
    pub storage_nodes: Table,
    pub patches: Table,
}

/// Block with its hash and state root, such as the head of the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Head {
    pub number: u64,
    pub hash: B256,
    pub state_root: B256,
}

impl Tables {
    /// Return the state's tables among those of an environment, or None if one is missing.
    pub fn among(names: &[String]) -> Option<Self> {
        let named = |wanted| names.iter().position(|name| name == wanted).map(Table::at);
        let [accounts, storage, code, changes, hashes, account_nodes, storage_nodes, patches] =
            NAMES.map(named);
        Some(Self {
            meta: named(META)?,
            accounts: accounts?,
            storage: storage?,
            code: code?,
            changes: changes?,
            hashes: hashes?,
            account_nodes: account_nodes?,
            storage_nodes: storage_nodes?,
            patches: patches?,
        })
    }

    /// Return the committed head, the last block; None before the genesis state is written.
    pub fn head(&self, txn: &ReadTxn<'_>) -> Result<Option<Head>, StateError> {
        self.hashes.last(txn)?.map(block_of).transpose()
    }

    /// Return the hash of the state's first block, whose row is never pruned.
    pub fn genesis_hash(&self, txn: &ReadTxn<'_>) -> Result<Option<B256>, StateError> {
        Ok(self.hashes.first(txn)?.map(block_of).transpose()?.map(|block| block.hash))
    }

    /// Return the number of the first block with a readable state, 0 if none was pruned.
    pub fn earliest(&self, txn: &ReadTxn<'_>) -> Result<u64, StateError> {
        let row = self.meta.get(txn, b"first")?;
        row.map_or(Ok(0), |row| row.try_into().map(u64::from_be_bytes).map_err(|_| corrupt("first block")))
    }

    /// Return the hash and state root of block `number`; None if it is not stored.
    pub fn block(&self, txn: &ReadTxn<'_>, number: u64) -> Result<Option<Head>, StateError> {
        let key = number.to_be_bytes();
        self.hashes.get(txn, &key)?.map(|row| block_of((&key, row))).transpose()
    }

    pub fn put_block(&self, txn: &mut WriteTxn<'_>, block: &Head) -> Result<(), StateError> {
        let row = [block.hash, block.state_root].concat();
        Ok(self.hashes.put(txn, &block.number.to_be_bytes(), &row)?)
    }
}

fn block_of((key, row): KeyValue<'_>) -> Result<Head, StateError> {
    let number = key.try_into().map(u64::from_be_bytes);
    match (number, row.split_first_chunk::<32>()) {
        (Ok(number), Some((hash, root))) if root.len() == 32 => {
            Ok(Head { number, hash: B256::from(hash), state_root: B256::from_slice(root) })
        }
        _ => Err(corrupt("block")),
    }
}

fn corrupt(what: &str) -> StateError {
    StateError::Corrupt(format!("row of the {what}"))
}
