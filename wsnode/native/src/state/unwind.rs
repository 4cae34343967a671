//! Going back to an earlier block: old values into the tries, later rows out of the tables.

use super::batch::put_nodes;
use super::changes::{merged, parts};

use super::delta::Touched;
use super::hashes::Hashes;
use super::keys::{changes_key, slot_key};
use super::store::{root_of, StateStore};
use super::tables::{Head, Tables};
use super::versions::truncate;
use super::StateError;
use crate::trie::{NodeRows, StateTries};
use heed::RwTxn;

impl StateStore {
    /// Take the committed state back to block `number` and return the new head; synced. Nothing may be
    /// uncommitted. The tries must arrive at that block's root.
    pub fn unwind(&mut self, number: u64) -> Result<Head, StateError> {
        if let Some(sealed) = self.sealed.last() {
            return Err(StateError::Uncommitted { head: sealed.head.number });
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
        let block = if number < latest { self.environment.read()?.block(number)? } else { None };
        block.ok_or(StateError::NoHistory { requested: number, earliest: 0, latest })
    }

    fn unwind_to(&mut self, target: Head) -> Result<(), StateError> {
        let rows = self.rows_at(&target)?;
        let lists = self.environment.read()?.lists_above(target.number)?;
        let changed = merged(&lists)?;
        let head = self.committed.number;
        self.environment.write(true, |txn, tables| {
            drop_values(txn, tables, &changed, target.number)?;
            move_lists(txn, tables, &lists, target.number)?;
            for number in target.number + 1..=head {
                tables.hashes.delete(txn, &number.to_be_bytes())?;
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
        let old = snapshot.values_at(target.number)?;
        let mut tries = StateTries::new(root_of(&self.committed));
        let found = tries.apply(&snapshot, Hashes::default().changes(&old))?;
        if found != root_of(target) {
            let Head { number, state_root: expected, .. } = *target;
            return Err(StateError::RootMismatch { number, expected, found });
        }
        Ok(tries.rows())
    }
}

fn drop_values(
    txn: &mut RwTxn<'_>,
    tables: &Tables,
    changed: &Touched,
    number: u64,
) -> Result<(), StateError> {
    for (address, touched) in &changed.0 {
        if touched.account {
            truncate(txn, tables.accounts, address.as_slice(), number)?;
        }
        for slot in &touched.slots {
            truncate(txn, tables.storage, &slot_key(address, slot), number)?;
        }
    }
    Ok(())
}

/// Delete the lists that end above block `number`, but keep for it what the first one may say of the
/// blocks up to it.
fn move_lists(
    txn: &mut RwTxn<'_>,
    tables: &Tables,
    lists: &[(u64, Vec<u8>)],
    number: u64,
) -> Result<(), StateError> {
    for (last, list) in lists {
        for (key, _) in parts(*last, list) {
            tables.changes.delete(txn, &key)?;
        }
    }
    let complete = tables.changes.get(txn, &changes_key(number, 0))?.is_some();
    let Some((_, list)) = lists.first().filter(|_| number > 0 && !complete) else {
        return Ok(());
    };
    for (key, part) in parts(number, list) {
        tables.changes.put(txn, &key, part)?;
    }
    Ok(())
}
