//! The tables, the schema version, and the rows of `meta` and `hashes`.

use crate::state::StateError;
use alloy_primitives::B256;
use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, RoTxn, RwTxn, WithoutTls};

pub type Table = Database<'static, Bytes, Bytes>;

/// The version of this layout.
pub const SCHEMA: u32 = 1;

/// Every table; `docs/storage.md` describes keys and values.
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

const META: &str = "meta";
const OTHERS: [&str; 7] =
    ["accounts", "storage", "code", "changes", "hashes", "account_nodes", "storage_nodes"];

/// Where the state stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Head {
    pub number: u64,
    pub hash: B256,
    pub state_root: B256,
}

impl Tables {
    /// The tables, created where missing; another schema is left alone.
    pub fn create(env: &Env<WithoutTls>) -> Result<Self, StateError> {
        let [meta] = create(env, [META])?;
        let mut txn = env.write_txn()?;
        match schema(&txn, meta)? {
            Some(SCHEMA) => {}
            Some(found) => return Err(StateError::UnknownSchema { found }),
            None => meta.put(&mut txn, b"schema", &SCHEMA.to_be_bytes())?,
        }
        txn.commit()?;
        Ok(Self::from_parts(meta, create(env, OTHERS)?))
    }

    /// The tables of a store that a writer has made.
    pub fn open(env: &Env<WithoutTls>) -> Result<Self, StateError> {
        let [meta] = open(env, [META])?;
        match schema(&*env.read_txn()?, meta)? {
            Some(SCHEMA) => Ok(Self::from_parts(meta, open(env, OTHERS)?)),
            Some(found) => Err(StateError::UnknownSchema { found }),
            None => Err(StateError::NotInitialised),
        }
    }

    fn from_parts(meta: Table, others: [Table; 7]) -> Self {
        let [accounts, storage, code, changes, hashes, account_nodes, storage_nodes] = others;
        Self { meta, accounts, storage, code, changes, hashes, account_nodes, storage_nodes }
    }

    /// The committed head; none before the genesis state is written.
    pub fn head(&self, txn: &RoTxn<'_>) -> Result<Option<Head>, StateError> {
        let Some(row) = self.meta.get(txn, b"head")? else {
            return Ok(None);
        };
        let (number, rest) = row.split_first_chunk().ok_or_else(|| corrupt("head"))?;
        let (hash, state_root) = hashes(rest)?;
        Ok(Some(Head { number: u64::from_be_bytes(*number), hash, state_root }))
    }

    pub fn put_head(&self, txn: &mut RwTxn<'_>, head: &Head) -> Result<(), StateError> {
        let row = [&head.number.to_be_bytes()[..], &head.hash[..], &head.state_root[..]].concat();
        Ok(self.meta.put(txn, b"head", &row)?)
    }

    /// The first block whose state can be read.
    pub fn earliest(&self, txn: &RoTxn<'_>) -> Result<u64, StateError> {
        let row = self.meta.get(txn, b"earliest")?;
        row.map_or(Ok(0), |row| row.try_into().map(u64::from_be_bytes).map_err(|_| corrupt("earliest")))
    }

    pub fn put_earliest(&self, txn: &mut RwTxn<'_>, number: u64) -> Result<(), StateError> {
        Ok(self.meta.put(txn, b"earliest", &number.to_be_bytes())?)
    }

    pub fn genesis_hash(&self, txn: &RoTxn<'_>) -> Result<Option<B256>, StateError> {
        let row = self.meta.get(txn, b"genesis")?;
        row.map(|row| B256::try_from(row).map_err(|_| corrupt("genesis"))).transpose()
    }

    /// Hash and state root of a block.
    pub fn block(&self, txn: &RoTxn<'_>, number: u64) -> Result<Option<Head>, StateError> {
        let Some(row) = self.hashes.get(txn, &number.to_be_bytes())? else {
            return Ok(None);
        };
        let (hash, state_root) = hashes(row)?;
        Ok(Some(Head { number, hash, state_root }))
    }

    pub fn put_block(&self, txn: &mut RwTxn<'_>, block: &Head) -> Result<(), StateError> {
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

fn schema(txn: &RoTxn<'_>, meta: Table) -> Result<Option<u32>, StateError> {
    let row = meta.get(txn, b"schema")?;
    row.map(|row| row.try_into().map(u32::from_be_bytes).map_err(|_| corrupt("schema"))).transpose()
}

fn corrupt(what: &str) -> StateError {
    StateError::Corrupt(format!("row of the {what}"))
}

/// Tables of these names, made where missing.
pub fn create<const N: usize>(env: &Env<WithoutTls>, names: [&str; N]) -> Result<[Table; N], StateError> {
    let done = env.create_databases_and_commit(env.write_txn()?, |opener, txn| {
        let tables: Result<Vec<_>, heed::Error> =
            names.iter().map(|name| opener.create_database::<Bytes, Bytes>(txn, Some(name))).collect();
        array(tables?).map(CommitOrAbort::<_, ()>::Commit)
    })?;
    done.commit().ok_or(StateError::NotInitialised)
}

fn open<const N: usize>(env: &Env<WithoutTls>, names: [&str; N]) -> Result<[Table; N], StateError> {
    let done = env.open_databases_and_commit(env.read_txn()?, |opener, txn| {
        let tables: Result<Option<Vec<_>>, heed::Error> =
            names.iter().map(|name| opener.open_database::<Bytes, Bytes>(txn, Some(name))).collect();
        match tables? {
            Some(tables) => array(tables).map(CommitOrAbort::<_, ()>::Commit),
            None => Err(StateError::NotInitialised),
        }
    })?;
    done.commit().ok_or(StateError::NotInitialised)
}

fn array<T, const N: usize>(items: Vec<T>) -> Result<[T; N], StateError> {
    items.try_into().map_err(|_| StateError::NotInitialised)
}
