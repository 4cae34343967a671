//! Going back to an earlier block: old values into the tries, later rows out of the tables.

use super::commit::put_nodes;
use super::hashes::Hashes;
use super::keys::{account_key, changes_key, storage_key};
use super::store::{root_of, StateStore};
use super::tables::{Head, Tables};
use super::{changes::Changed, StateError};
use crate::trie::{NodeRows, StateTries};
use heed::RwTxn;

impl StateStore {
    /// Take the committed state back to block `number` and return the new head; synced. Nothing may be
    /// uncommitted. The tries must arrive at that block's root.
    pub fn unwind(&mut self, number: u64) -> Result<Head, StateError> {
        if let Some(sealed) = self.sealed.last() {
            return Err(StateError::Uncommitted {
                head: sealed.head.number,
            });
        }
        self.rollback()?;
        if number == self.committed.number {
            return Ok(self.committed);
        }
        let target = self.recorded(number)?;
        let unwound = self.unwind_to(target);
        self.discard_uncommitted();
        unwound.map(|()| target)
    }

    fn recorded(&self, number: u64) -> Result<Head, StateError> {
        let latest = self.committed.number;
        let block = if number < latest {
            self.environment.read()?.block(number)?
        } else {
            None
        };
        block.ok_or(StateError::NoHistory {
            requested: number,
            earliest: 0,
            latest,
        })
    }

    fn unwind_to(&mut self, target: Head) -> Result<(), StateError> {
        let rows = self.rows_at(&target)?;
        let later = self.changes_after(target.number)?;
        self.environment.write(true, |txn, tables| {
            for (number, changes) in &later {
                delete_block(txn, tables, *number, changes)?;
            }
            put_nodes(txn, tables, &rows)?;
            tables.put_head(txn, &target)
        })?;
        self.committed = target;
        Ok(())
    }

    /// The rows that take the tries to `target`.
    fn rows_at(&self, target: &Head) -> Result<Vec<NodeRows>, StateError> {
        let snapshot = self.environment.read()?;
        let old = snapshot.values_at(target.number, self.committed.number)?;
        let mut tries = StateTries::new(root_of(&self.committed));
        let found = tries.apply(&snapshot, Hashes::default().changes(&old))?;
        if found != root_of(target) {
            let Head {
                number,
                state_root: expected,
                ..
            } = *target;
            return Err(StateError::RootMismatch {
                number,
                expected,
                found,
            });
        }
        Ok(tries.rows())
    }

    fn changes_after(&self, number: u64) -> Result<Vec<(u64, Vec<Changed>)>, StateError> {
        let snapshot = self.environment.read()?;
        let later = number + 1..=self.committed.number;
        later
            .map(|number| Ok((number, snapshot.changes(number)?)))
            .collect()
    }
}

fn delete_block(
    txn: &mut RwTxn<'_>,
    tables: &Tables,
    number: u64,
    changes: &[Changed],
) -> Result<(), StateError> {
    for Changed {
        address,
        account,
        slots,
    } in changes
    {
        if *account {
            tables.accounts.delete(txn, &account_key(address, number))?;
        }
        for slot in slots {
            tables
                .storage
                .delete(txn, &storage_key(address, slot, number))?;
        }
    }
    let mut part = 0;
    while tables.changes.delete(txn, &changes_key(number, part))? {
        part += 1;
    }
    tables.hashes.delete(txn, &number.to_be_bytes())?;
    Ok(())
}
