//! Writing: the genesis state, and the sealed blocks in one transaction, the head last.

use super::account::{encode_value, Account};
use super::changes;
use super::delta::{AccountDelta, Delta};
use super::environment::Environment;
use super::keys::{account_key, node_key, storage_key, AccountKey, StorageKey};
use super::store::{Sealed, StateStore};
use super::tables::{Head, Tables};
use super::StateError;
use crate::trie::{NoNodes, NodeRows};
use alloy_primitives::{keccak256, Address, Bytes, B256, U256};
use alloy_trie::KECCAK_EMPTY;
use heed::RwTxn;
use revm::bytecode::Bytecode;

/// Trie nodes that stay in memory after a commit: some 300 bytes each.
const NODES_KEPT: usize = 500_000;

/// An account of the genesis allocation.
#[derive(Debug, Clone, Default)]
pub struct GenesisAccount {
    pub nonce: u64,
    pub balance: U256,
    pub code: Bytes,
    pub storage: Vec<(B256, B256)>,
}

impl From<&alloy_genesis::GenesisAccount> for GenesisAccount {
    fn from(account: &alloy_genesis::GenesisAccount) -> Self {
        Self {
            nonce: account.nonce.unwrap_or_default(),
            balance: account.balance,
            code: account.code.clone().unwrap_or_default(),
            storage: account
                .storage
                .iter()
                .flatten()
                .map(|(slot, value)| (*slot, *value))
                .collect(),
        }
    }
}

impl From<alloy_genesis::GenesisAccount> for GenesisAccount {
    fn from(account: alloy_genesis::GenesisAccount) -> Self {
        Self::from(&account)
    }
}

impl StateStore {
    /// Write the genesis allocation to an empty store and return the state root; a store that was begun
    /// with the same genesis stays as it is.
    pub fn init_genesis<A: Into<GenesisAccount>>(
        &mut self,
        genesis_hash: B256,
        alloc: impl IntoIterator<Item = (Address, A)>,
    ) -> Result<B256, StateError> {
        if let Some(found) = self.genesis_hash()? {
            if found != genesis_hash {
                return Err(StateError::OtherGenesis {
                    expected: genesis_hash,
                    found,
                });
            }
            let block = self.environment.read()?.block(0)?;
            return Ok(block.ok_or(StateError::NotInitialised)?.state_root);
        }
        let mut delta = Delta::default();
        for (address, account) in alloc {
            allot(&mut delta, address, account.into());
        }
        let state_root = self.working_mut().apply(&NoNodes, &delta)?;
        let head = Head {
            number: 0,
            hash: genesis_hash,
            state_root,
        };
        self.write(&[Sealed { head, delta }], true)?;
        Ok(state_root)
    }

    /// Commit every sealed block. With `sync` it is on the disk afterwards; without, the operating system
    /// has it, and `sync_now` can follow.
    pub fn commit(&mut self, sync: bool) -> Result<(), StateError> {
        // The tries must stand at the last sealed block.
        self.rollback()?;
        if self.sealed.is_empty() {
            return if sync { self.sync_now() } else { Ok(()) };
        }
        let sealed = std::mem::take(&mut self.sealed);
        let written = self.write(&sealed, sync);
        if written.is_err() {
            self.sealed = sealed;
        }
        written
    }

    /// Bring everything committed to the disk.
    pub fn sync_now(&self) -> Result<(), StateError> {
        self.environment.sync()
    }

    fn write(&mut self, sealed: &[Sealed], sync: bool) -> Result<(), StateError> {
        let Some(last) = sealed.last() else {
            return Ok(());
        };
        let batch = Batch::of(sealed, self.working_mut().tries.rows());
        batch.write(&self.environment, sync)?;
        self.committed = last.head;
        self.working_mut().tries.saved(NODES_KEPT);
        self.overlay.shrink();
        Ok(())
    }
}

fn allot(delta: &mut Delta, address: Address, account: GenesisAccount) {
    let code_hash = if account.code.is_empty() {
        KECCAK_EMPTY
    } else {
        keccak256(&account.code)
    };
    let slots = account
        .storage
        .iter()
        .map(|(slot, value)| ((*slot).into(), (*value).into()));
    let slots = slots
        .filter(|(_, value): &(U256, U256)| !value.is_zero())
        .collect();
    let row = Account {
        nonce: account.nonce,
        balance: account.balance,
        code_hash,
    };
    delta.accounts.push(AccountDelta {
        address,
        account: Some(Some(row)),
        slots,
    });
    if code_hash != KECCAK_EMPTY {
        delta
            .code
            .push((code_hash, super::code::analyse(account.code)));
    }
}

/// The rows of a run of blocks in the order of their keys: neighbours go to the same page.
struct Batch<'b> {
    accounts: Vec<(AccountKey, Option<Account>)>,
    storage: Vec<(StorageKey, U256)>,
    code: Vec<(&'b B256, &'b Bytecode)>,
    changes: Vec<(u64, Vec<u8>)>,
    nodes: Vec<NodeRows>,
    blocks: Vec<Head>,
}

impl<'b> Batch<'b> {
    fn of(sealed: &'b [Sealed], nodes: Vec<NodeRows>) -> Self {
        let (mut accounts, mut storage) = (Vec::new(), Vec::new());
        for (number, changed) in sealed.iter().flat_map(|sealed| {
            sealed
                .delta
                .accounts
                .iter()
                .map(|changed| (sealed.head.number, changed))
        }) {
            let address = &changed.address;
            accounts.extend(
                changed
                    .account
                    .map(|account| (account_key(address, number), account)),
            );
            let slots = changed.slots.iter();
            storage.extend(slots.map(|(slot, value)| (storage_key(address, slot, number), *value)));
        }
        accounts.sort_unstable_by_key(|row| row.0);
        storage.sort_unstable_by_key(|row| row.0);
        // The genesis block is never unwound, so nobody asks what it changed.
        let later = sealed.iter().filter(|sealed| sealed.head.number > 0);
        let changes = later
            .map(|sealed| (sealed.head.number, changes::encode(&sealed.delta)))
            .collect();
        let code = sealed
            .iter()
            .flat_map(|sealed| sealed.delta.code.iter().map(|(hash, code)| (hash, code)))
            .collect();
        let blocks = sealed.iter().map(|sealed| sealed.head).collect();
        Self {
            accounts,
            storage,
            code,
            changes,
            nodes,
            blocks,
        }
    }

    fn write(&self, environment: &Environment, sync: bool) -> Result<(), StateError> {
        environment.write(sync, |txn, tables| {
            self.put_values(txn, tables)?;
            self.put_blocks(txn, tables)?;
            put_nodes(txn, tables, &self.nodes)
        })
    }

    fn put_values(&self, txn: &mut RwTxn<'_>, tables: &Tables) -> Result<(), StateError> {
        let mut row = Vec::with_capacity(80);
        for (key, account) in &self.accounts {
            row.clear();
            account.iter().for_each(|account| account.encode(&mut row));
            tables.accounts.put(txn, key, &row)?;
        }
        for (key, value) in &self.storage {
            row.clear();
            encode_value(value, &mut row);
            tables.storage.put(txn, key, &row)?;
        }
        for (hash, code) in &self.code {
            if tables.code.get(txn, hash.as_slice())?.is_none() {
                tables
                    .code
                    .put(txn, hash.as_slice(), code.original_byte_slice())?;
            }
        }
        Ok(())
    }

    fn put_blocks(&self, txn: &mut RwTxn<'_>, tables: &Tables) -> Result<(), StateError> {
        for (number, list) in &self.changes {
            for (key, part) in changes::parts(*number, list) {
                tables.changes.put(txn, &key, part)?;
            }
        }
        for block in &self.blocks {
            tables.put_block(txn, block)?;
            if block.number == 0 {
                tables.meta.put(txn, b"genesis", block.hash.as_slice())?;
            }
        }
        self.blocks
            .last()
            .map_or(Ok(()), |head| tables.put_head(txn, head))
    }
}

/// Bring the rows of the tries up to date.
pub(super) fn put_nodes(
    txn: &mut RwTxn<'_>,
    tables: &Tables,
    tries: &[NodeRows],
) -> Result<(), StateError> {
    for NodeRows {
        owner,
        deleted,
        written,
    } in tries
    {
        let table = if owner.is_some() {
            tables.storage_nodes
        } else {
            tables.account_nodes
        };
        for path in deleted {
            table.delete(txn, &node_key(owner.as_ref(), path))?;
        }
        for (path, encoded) in written {
            table.put(txn, &node_key(owner.as_ref(), path), encoded)?;
        }
    }
    Ok(())
}
