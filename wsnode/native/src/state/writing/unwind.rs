//! Unwinding to an earlier block: old values go into the tries, later rows out of the tables.

use super::batch::put_nodes;
use crate::state::bounds::Bounds;
use crate::state::changes::{merged, parts};

use super::patch::put_in_place;
use super::patches::{forget, Undo};
use crate::state::caches::hashes::Hashes;
use crate::state::delta::TouchedState;
use crate::state::layout::keys::{changes_key, slot_key};
use crate::state::layout::tables::{Head, Tables};
use crate::state::layout::versions::drop_from;
use crate::state::store::{root_of, StateStore};
use crate::state::StateError;
use crate::store::WriteTxn;
use crate::trie::{NodeRows, StateTries};
use alloy_primitives::B256;

impl StateStore {
    /// Unwind the committed state to block `number` and return the new head; the commit is synced.
    ///
    /// Sealed blocks must be committed before. With `root`, patches of block `number` are undone until its
    /// state has this root. Fail with `RootMismatch` if the tries arrive at another root, and with
    /// `NoHistory` if the block's state is not kept.
    pub fn unwind(&mut self, number: u64, root: Option<B256>) -> Result<Head, StateError> {
        self.require_committed()?;
        let recorded = self.recorded(number)?;
        let target = Head { state_root: root.unwrap_or(recorded.state_root), ..recorded };
        if target == self.committed {
            return Ok(target);
        }
        let undo = self.environment.read()?.undo(&recorded, target.state_root)?;
        let unwound = self.unwind_to(target, &undo);
        self.discard_uncommitted();
        unwound.map(|()| target)
    }

    /// Undo an unfinished block; fail with `Uncommitted` if sealed blocks are not committed.
    pub(in crate::state) fn require_committed(&mut self) -> Result<(), StateError> {
        match self.sealed.last() {
            Some(sealed) => Err(StateError::Uncommitted { head: sealed.head.number }),
            None => self.rollback(),
        }
    }

    fn recorded(&self, number: u64) -> Result<Head, StateError> {
        let latest = self.committed.number;
        if number == latest {
            return Ok(self.committed);
        }
        let snapshot = self.environment.read()?;
        let block = if number < latest { snapshot.kept_block(number)? } else { None };
        let earliest = snapshot.earliest()?;
        block.ok_or(StateError::NoHistory { requested: number, earliest, latest })
    }

    fn unwind_to(&mut self, target: Head, undo: &Undo) -> Result<(), StateError> {
        let rows = self.rows_at(&target, undo)?;
        let lists = self.environment.read()?.lists_above(target.number)?;
        let changed = merged(&lists)?;
        let head = self.committed.number;
        self.environment.write(true, |txn, tables| {
            drop_values(txn, tables, &changed, target.number)?;
            put_in_place(txn, tables, &undo.before, target.number)?;
            forget(txn, tables, undo, target.number)?;
            move_lists(txn, tables, &lists, target.number)?;
            for number in target.number + 1..=head {
                tables.hashes.delete(txn, &number.to_be_bytes())?;
            }
            put_nodes(txn, tables, &rows)?;
            tables.put_block(txn, &target)?;
            tables.put_head(txn, &target)
        })?;
        self.committed = target;
        Ok(())
    }

    /// Return the rows that take the tries to `target`; fail with `RootMismatch` if they arrive at another
    /// root.
    fn rows_at(&self, target: &Head, undo: &Undo) -> Result<Vec<NodeRows>, StateError> {
        let snapshot = self.environment.read()?;
        let (old, _) = snapshot.values_at(target.number, Bounds::none())?;
        let mut tries = StateTries::new(root_of(&self.committed));
        let mut hashes = Hashes::default();
        tries.apply(&snapshot, hashes.changes(&old))?;
        let found = tries.apply(&snapshot, hashes.changes(&undo.before))?;
        if found != root_of(target) {
            let Head { number, state_root: expected, .. } = *target;
            return Err(StateError::RootMismatch { number, expected, found });
        }
        Ok(tries.rows())
    }
}

fn drop_values(
    txn: &mut WriteTxn<'_>,
    tables: &Tables,
    changed: &TouchedState,
    number: u64,
) -> Result<(), StateError> {
    for (address, touched) in &changed.0 {
        if touched.account {
            drop_from(txn, tables.accounts, address.as_slice(), number + 1)?;
        }
        for slot in &touched.slots {
            drop_from(txn, tables.storage, &slot_key(address, slot), number + 1)?;
        }
    }
    Ok(())
}

/// Delete the change lists that end above block `number`.
///
/// The first of them may also cover blocks up to `number`, so it is written again under that number unless a
/// list is there.
fn move_lists(
    txn: &mut WriteTxn<'_>,
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
