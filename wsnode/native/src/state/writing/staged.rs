//! Staged changes of the state: they are written in a transaction beside other rows, and settled after its
//! commit.

use std::fmt;

use super::batch::Batch;
use crate::state::changes::Outdated;
use crate::state::layout::tables::{Head, Tables};
use crate::state::store::{StateStore, Write};
use crate::state::StateError;
use crate::store::WriteTxn;

/// Maximum number of trie nodes kept in memory after a commit: some 300 bytes each.
const NODES_KEPT: usize = 500_000;

/// Change of the state that is written in a transaction, and settled after its commit.
pub struct Staged {
    write: Box<Write>,
    tables: Tables,
    effect: CommitEffect,
}

/// Effect of a committed change on the values in memory.
pub(in crate::state) enum CommitEffect {
    /// This number of sealed blocks is committed, with the way back below them; the head is this block.
    Sealed(usize, Head),
    /// The committed state was changed, and nothing was in memory.
    Moved,
    /// These values of the list being pruned are left.
    Pruned(Option<Outdated>),
}

impl Staged {
    /// Write the change; a transaction that is begun again writes it again.
    pub fn write(&self, txn: &mut WriteTxn<'_>) -> Result<(), StateError> {
        (self.write)(txn, &self.tables)
    }
}

impl fmt::Debug for Staged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Staged").finish_non_exhaustive()
    }
}

impl StateStore {
    pub(in crate::state) fn staged(
        &self,
        effect: CommitEffect,
        write: impl Fn(&mut WriteTxn<'_>, &Tables) -> Result<(), StateError> + Send + Sync + 'static,
    ) -> Staged {
        Staged { write: Box::new(write), tables: self.environment.tables, effect }
    }

    /// Stage every sealed block and the way back below them; return None if there is no change.
    ///
    /// Blocks can be applied and sealed on top meanwhile. Fail with `Uncommitted` if an earlier change is
    /// neither settled nor discarded.
    pub fn stage(&mut self) -> Result<Option<Staged>, StateError> {
        // The rows are those of the last sealed block, so the changes of an unfinished block are undone
        // first.
        self.rollback()?;
        let head = self.head();
        if self.staged.is_some() {
            return Err(StateError::Uncommitted { head: head.number });
        }
        if head == self.committed && self.unwinding.is_none() {
            return Ok(None);
        }
        let tries = &mut self.working_mut().tries;
        let rows = tries.rows();
        tries.saved();
        let (batch, unwinding) = (Batch::of(&self.sealed, rows), self.unwinding.clone());
        self.staged = Some(self.sealed.len());
        Ok(Some(self.staged(CommitEffect::Sealed(self.sealed.len(), head), move |txn, tables| {
            unwinding.iter().try_for_each(|unwinding| (unwinding.write)(txn, tables))?;
            batch.write(txn, tables)
        })))
    }

    /// Take note that a change was committed. Return true if what is not committed stays, false if it was
    /// discarded.
    pub fn settle(&mut self, staged: &Staged) -> Result<bool, StateError> {
        match &staged.effect {
            // The staged change was discarded before or during its commit, so the state in memory no longer
            // matches the file.
            CommitEffect::Sealed(count, _) if self.staged != Some(*count) => {
                self.discard_uncommitted()?;
                Ok(false)
            }
            CommitEffect::Sealed(count, head) => {
                self.sealed.drain(..*count);
                (self.committed, self.unwinding, self.staged) = (*head, None, None);
                self.overlay.shrink(self.sealed.iter().map(|sealed| &sealed.delta));
                self.working_mut().tries.shrink(NODES_KEPT);
                Ok(true)
            }
            CommitEffect::Moved => {
                self.discard_uncommitted()?;
                Ok(false)
            }
            CommitEffect::Pruned(left) => {
                self.outdated.clone_from(left);
                Ok(true)
            }
        }
    }
}
