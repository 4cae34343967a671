//! Rows of a run of blocks, written in the order of their keys so that neighbours go to the same page.

use crate::state::changes;
use crate::state::delta::TouchedState;
use crate::state::layout::account::{encode_value, Account};
use crate::state::layout::keys::{account_key, node_key, storage_key, AccountKey, StorageKey};
use crate::state::layout::tables::{Head, Tables};
use crate::state::layout::versions;
use crate::state::store::Sealed;
use crate::state::StateError;
use crate::store::WriteTxn;
use crate::trie::NodeRows;
use alloy_primitives::{B256, U256};
use revm::bytecode::Bytecode;

/// Rows that one commit writes.
pub struct Batch {
    accounts: Vec<(AccountKey, Option<Account>)>,
    storage: Vec<(StorageKey, U256)>,
    code: Vec<(B256, Bytecode)>,
    /// Change list of the blocks; empty for the genesis block, which cannot be unwound.
    changes: Vec<u8>,
    nodes: Vec<NodeRows>,
    blocks: Vec<Head>,
}

impl Batch {
    /// Return the rows of `sealed`, whose last block has the trie rows `nodes`.
    pub fn of(sealed: &[Sealed], nodes: Vec<NodeRows>) -> Self {
        let (mut accounts, mut storage) = (Vec::new(), Vec::new());
        let mut touched = TouchedState::default();
        for Sealed { head: Head { number, .. }, delta } in sealed {
            for changed in &delta.accounts {
                let key = account_key(&changed.address, *number);
                accounts.extend(changed.account.map(|account| (key, account)));
                let key = |slot| storage_key(&changed.address, slot, *number);
                storage.extend(changed.slots.iter().map(|(slot, value)| (key(slot), *value)));
            }
            if *number > 0 {
                touched.add(delta);
            }
        }
        accounts.sort_unstable_by_key(|version| version.0);
        storage.sort_unstable_by_key(|version| version.0);
        let code = sealed.iter().flat_map(|sealed| sealed.delta.code.iter().cloned()).collect();
        let blocks = sealed.iter().map(|sealed| sealed.head).collect();
        Self { accounts, storage, code, changes: changes::encode(&touched), nodes, blocks }
    }

    pub fn write(&self, txn: &mut WriteTxn<'_>, tables: &Tables) -> Result<(), StateError> {
        self.put_values(txn, tables)?;
        put_nodes(txn, tables, &self.nodes)?;
        self.put_blocks(txn, tables)
    }

    fn put_values(&self, txn: &mut WriteTxn<'_>, tables: &Tables) -> Result<(), StateError> {
        versions::put(txn, tables.accounts, &self.accounts, |account, row| {
            account.iter().for_each(|account| account.encode(row));
        })?;
        versions::put(txn, tables.storage, &self.storage, encode_value)?;
        for (hash, code) in &self.code {
            if tables.code.get(txn, hash.as_slice())?.is_none() {
                tables.code.put(txn, hash.as_slice(), code.original_byte_slice())?;
            }
        }
        Ok(())
    }

    fn put_blocks(&self, txn: &mut WriteTxn<'_>, tables: &Tables) -> Result<(), StateError> {
        for block in &self.blocks {
            tables.put_block(txn, block)?;
        }
        let Some(head) = self.blocks.last() else {
            return Ok(());
        };
        for (key, part) in changes::parts(head.number, &self.changes) {
            tables.changes.put(txn, &key, part)?;
        }
        Ok(())
    }
}

pub fn put_nodes(txn: &mut WriteTxn<'_>, tables: &Tables, tries: &[NodeRows]) -> Result<(), StateError> {
    for NodeRows { owner, deleted, written } in tries {
        let table = if owner.is_some() { tables.storage_nodes } else { tables.account_nodes };
        for path in deleted {
            table.delete(txn, &node_key(owner.as_ref(), path))?;
        }
        for (path, encoded) in written {
            table.put(txn, &node_key(owner.as_ref(), path), encoded)?;
        }
    }
    Ok(())
}
