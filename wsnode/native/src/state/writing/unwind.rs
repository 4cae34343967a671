//! Unwinding to an earlier block: first in memory, where blocks can be appended, then in the tables.

use std::sync::Arc;

use crate::state::bounds::Bounds;
use crate::state::changes::{merged, parts};
use crate::state::delta::{Delta, TouchedState};
use crate::state::layout::keys::{changes_key, slot_key};
use crate::state::layout::tables::{Head, Tables};
use crate::state::layout::versions::drop_from;
use crate::state::store::{root_of, StateStore, Unwinding};
use crate::state::StateError;
use crate::store::WriteTxn;
use alloy_primitives::B256;

use super::patch::put_in_place;
use super::patches::{forget, Undo};

/// Rows of the way back, but for the nodes of the tries.
struct UnwindRows {
    target: Head,
    head: u64,
    before: Arc<[Delta; 2]>,
    undo: Undo,
    /// Change lists that end above the target.
    lists: Vec<(u64, Vec<u8>)>,
    changed: TouchedState,
}

impl StateStore {
    /// Drop all that was not committed, go back to block `number` in memory, and return the new head; `stage`
    /// has it written.
    ///
    /// With `root`, patches of block `number` are undone until its state has this root. Fail with
    /// `RootMismatch` if the tries arrive at another root, and with `NoHistory` if the block's state is not
    /// kept; the head is the committed one then.
    pub fn rewind(&mut self, number: u64, root: Option<B256>) -> Result<Head, StateError> {
        self.discard_uncommitted()?;
        let recorded = self.recorded(number)?;
        let target = Head { state_root: root.unwrap_or(recorded.state_root), ..recorded };
        if target == self.committed {
            return Ok(target);
        }
        let unwinding = self.way_back(&recorded, target)?;
        let rewound = self.rewind_by(unwinding);
        if rewound.is_err() {
            self.discard_uncommitted()?;
        }
        rewound.map(|()| target)
    }

    fn rewind_by(&mut self, unwinding: Unwinding) -> Result<(), StateError> {
        let environment = self.environment.clone();
        let found = unwinding.apply(&environment.read()?, self.working_mut())?;
        if found != root_of(&unwinding.target) {
            let Head { number, state_root: expected, .. } = unwinding.target;
            return Err(StateError::RootMismatch { number, expected, found });
        }
        unwinding.before.iter().for_each(|before| self.overlay.add(before));
        self.unwinding = Some(unwinding);
        Ok(())
    }

    fn way_back(&self, recorded: &Head, target: Head) -> Result<Unwinding, StateError> {
        let snapshot = self.environment.read()?;
        let mut undo = snapshot.undo(recorded, target.state_root)?;
        let (old, _) = snapshot.values_at(target.number, Bounds::none())?;
        let lists = snapshot.lists_above(target.number)?;
        let changed = merged(&lists)?;
        let before = Arc::new([old, std::mem::take(&mut undo.before)]);
        let rows =
            UnwindRows { target, head: self.committed.number, before: before.clone(), undo, lists, changed };
        Ok(Unwinding { target, before, write: Arc::new(move |txn, tables| rows.write(txn, tables)) })
    }

    /// Undo an unfinished block; fail with `Uncommitted` if sealed blocks are not committed.
    pub(in crate::state) fn require_committed(&mut self) -> Result<(), StateError> {
        match self.head() {
            head if head != self.committed => Err(StateError::Uncommitted { head: head.number }),
            _ => self.rollback(),
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
}

impl UnwindRows {
    fn write(&self, txn: &mut WriteTxn<'_>, tables: &Tables) -> Result<(), StateError> {
        let number = self.target.number;
        drop_values(txn, tables, &self.changed, number)?;
        put_in_place(txn, tables, &self.before[1], number)?;
        forget(txn, tables, &self.undo, number)?;
        move_lists(txn, tables, &self.lists, number)?;
        for later in number + 1..=self.head {
            tables.hashes.delete(txn, &later.to_be_bytes())?;
        }
        tables.put_block(txn, &self.target)
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
