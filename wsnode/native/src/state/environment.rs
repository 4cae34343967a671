//! Environment of the state's tables: read snapshots with their head.

use super::layout::tables::{Head, Tables};
use super::proved::{Backing, BlockStates, ForkBase, ProvedView};
use super::StateError;
use crate::store::{self, Pin, PinnedTxn, ReadTxn, SharedReadTxn, StoreError};
use alloy_eips::BlockNumHash;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// LMDB environment of a chain with the tables of its state.
#[derive(Debug)]
pub(super) struct Environment {
    store: Arc<store::Environment>,
    pub(super) tables: Tables,
    /// Head of the latest snapshot, with the number of the transaction that committed it.
    head: Mutex<Option<(usize, Head)>>,
    backing: Backing,
}

/// Commit that several snapshots read, one after another.
pub(super) struct PinnedCommit {
    /// Read transaction of the commit; None while a snapshot borrows it, and once it is lost.
    txn: Arc<SharedReadTxn>,
    head: Head,
}

impl PinnedCommit {
    fn held(&self) -> MutexGuard<'_, Option<ReadTxn<'static>>> {
        self.txn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for PinnedCommit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PinnedCommit").field("head", &self.head).finish_non_exhaustive()
    }
}

/// Transaction of a snapshot: its own, or a pinned one lent until the snapshot is dropped.
pub(super) enum SnapshotTxn<'e> {
    Own(PinnedTxn),
    Lent { txn: Option<ReadTxn<'static>>, pinned: &'e PinnedCommit, _pin: Pin },
}

impl Deref for SnapshotTxn<'_> {
    type Target = ReadTxn<'static>;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Own(txn) => txn,
            Self::Lent { txn: Some(txn), .. } => txn,
            Self::Lent { txn: None, .. } => unreachable!("it goes back when this is dropped"),
        }
    }
}

impl Drop for SnapshotTxn<'_> {
    fn drop(&mut self) {
        // The transaction is returned here, before the field `_pin` is dropped.
        if let Self::Lent { txn, pinned, .. } = self {
            *pinned.held() = txn.take();
        }
    }
}

/// View of the store as of one commit, by one read transaction.
pub(super) struct Snapshot<'e> {
    pub(super) txn: SnapshotTxn<'e>,
    pub(super) tables: &'e Tables,
    /// Committed head; the default one before the genesis state is written.
    pub(super) head: Head,
    /// Proved state that supplies the values missing from the tables; None for a chain with a whole state.
    pub(super) base: Option<ProvedView<'e>>,
    /// True if `base` supplies all values, because the tables hold none of this block.
    pub(super) is_proved: bool,
}

impl Environment {
    /// Return the tables of an open environment; `backing` supplies the values that they lack.
    pub(super) fn new(store: Arc<store::Environment>, tables: Tables, backing: Backing) -> Self {
        Self { store, tables, head: Mutex::default(), backing }
    }

    /// Return the state below the first block, if the first block is another chain's.
    pub(super) fn base(&self) -> Option<&ForkBase> {
        match &self.backing {
            Backing::ForkBase(base) => Some(base),
            _ => None,
        }
    }

    /// Return the proved states of single blocks; None if this node executes the chain's blocks.
    pub(super) fn block_states(&self) -> Option<&BlockStates> {
        match &self.backing {
            Backing::PerBlock(block_states) => Some(block_states),
            _ => None,
        }
    }

    /// Return `snapshot` for reads of the state after `block`.
    ///
    /// Fail with `Reorganised` if the block is not in the snapshot, and with `Unknown` if its state root is
    /// not known.
    pub(super) fn after<'e>(
        &'e self,
        mut snapshot: Snapshot<'e>,
        block: BlockNumHash,
    ) -> Result<Snapshot<'e>, StateError> {
        if let Some(block_states) = self.block_states() {
            let base = block_states.view(block)?;
            snapshot.head = base.block;
            snapshot.base = Some(base);
            snapshot.is_proved = true;
        }
        snapshot.require(block)?;
        Ok(snapshot)
    }

    /// Return a snapshot of the last commit.
    pub(super) fn read(&self) -> Result<Snapshot<'_>, StateError> {
        let txn = self.store.read_alone().map_err(|error| self.store.explained(error))?;
        let head = self.head_of(&txn)?;
        self.snapshot(SnapshotTxn::Own(txn), head)
    }

    /// Return a snapshot of the pinned commit, or of the last commit while another snapshot borrows the
    /// pinned one.
    pub(super) fn read_at<'e>(&'e self, pinned: &'e PinnedCommit) -> Result<Snapshot<'e>, StateError> {
        let pin = self.store.pin_kept().map_err(|error| self.store.explained(error))?;
        let lent = pinned.held().take();
        match lent {
            Some(txn) => self.snapshot(SnapshotTxn::Lent { txn: Some(txn), pinned, _pin: pin }, pinned.head),
            None => self.read(),
        }
    }

    /// Keep the last commit readable and return it for later snapshots.
    pub(super) fn pin(&self) -> Result<PinnedCommit, StateError> {
        let txn = self.store.keep_version()?;
        let head = match &*txn.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(txn) => self.head_of(txn)?,
            None => return Err(StoreError::Lost.into()),
        };
        Ok(PinnedCommit { txn, head })
    }

    fn head_of(&self, txn: &ReadTxn<'_>) -> Result<Head, StateError> {
        let mut known = self.head.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, head)) = known.filter(|(version, _)| *version == txn.id()) {
            return Ok(head);
        }
        let head = self.tables.head(txn)?.unwrap_or_default();
        *known = Some((txn.id(), head));
        Ok(head)
    }

    fn snapshot<'e>(&'e self, txn: SnapshotTxn<'e>, head: Head) -> Result<Snapshot<'e>, StateError> {
        let base = self.base().map(ProvedView::new).transpose()?;
        Ok(Snapshot { txn, tables: &self.tables, head, base, is_proved: false })
    }

    #[cfg(test)]
    pub(super) fn store(&self) -> &store::Environment {
        &self.store
    }

    #[cfg(test)]
    pub(super) fn map_size(&self) -> usize {
        self.store.map_size().unwrap()
    }

    #[cfg(test)]
    pub(super) fn file_size(&self) -> Result<u64, StateError> {
        Ok(self.store.file_size()?)
    }
}
