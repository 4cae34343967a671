//! Environment of the state's tables: read snapshots with their head, and write transactions.

use super::layout::tables::{Head, Tables};
use super::proved::{Backing, BlockStates, ForkBase, ProvedView};
use super::StateError;
use crate::store::{self, Durability, Opening, Pin, PinnedTxn, ReadTxn, SharedReadTxn, StoreError, WriteTxn};
use alloy_eips::BlockNumHash;
use std::fs::File;
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// LMDB environment with its tables.
#[derive(Debug)]
pub(super) struct Environment {
    store: store::Environment,
    tables: Tables,
    /// Head of the latest snapshot, with the number of the transaction that committed it.
    head: Mutex<Option<(usize, Head)>>,
    backing: Backing,
}

/// Commit that several snapshots read, one after another.
pub(super) struct Pinned {
    /// Read transaction of the commit; None while a snapshot borrows it, and once it is lost.
    txn: Arc<SharedReadTxn>,
    head: Head,
}

impl Pinned {
    fn held(&self) -> MutexGuard<'_, Option<ReadTxn<'static>>> {
        self.txn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Pinned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pinned").field("head", &self.head).finish_non_exhaustive()
    }
}

/// Transaction of a snapshot: its own, or a pinned one lent until the snapshot is dropped.
pub(super) enum SnapshotTxn<'e> {
    Own(PinnedTxn),
    Lent { txn: Option<ReadTxn<'static>>, pinned: &'e Pinned, _pin: Pin },
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
        // The pin goes after it.
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
    /// Open the environment in the folder `path`; a writer creates missing files and tables.
    pub(super) fn open(path: &Path, writer: bool, map_size: usize) -> Result<Self, StateError> {
        let names = Tables::names();
        let (path, durability) = (path.to_owned(), Durability::Full);
        let opening = Opening { path, names, writer, durability, map_size, grows: true };
        let store = store::Environment::open(opening).map_err(|error| match error {
            StoreError::NoTables(_) => StateError::NotInitialised,
            error => error.into(),
        })?;
        let (tables, head, backing) = (Tables::new(), Mutex::default(), Backing::None);
        let found = tables.schema(&*store.read_alone()?)?;
        match (found, writer) {
            (Some(found), _) => tables.require_schema(found)?,
            (None, true) => store.change(Durability::Full, |txn| tables.put_schema(txn))?,
            (None, false) => return Err(StateError::NotInitialised),
        }
        Ok(Self { store, tables, head, backing })
    }

    /// Set the source of values that the tables do not have.
    pub(super) fn set_backing(&mut self, backing: Backing) {
        self.backing = backing;
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
    pub(super) fn read_at<'e>(&'e self, pinned: &'e Pinned) -> Result<Snapshot<'e>, StateError> {
        let pin = self.store.pin_kept().map_err(|error| self.store.explained(error))?;
        let lent = pinned.held().take();
        match lent {
            Some(txn) => self.snapshot(SnapshotTxn::Lent { txn: Some(txn), pinned, _pin: pin }, pinned.head),
            None => self.read(),
        }
    }

    /// Keep the last commit readable and return it for later snapshots.
    pub(super) fn pin(&self) -> Result<Pinned, StateError> {
        let txn = self.store.keep_version()?;
        let head = match &*txn.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(txn) => self.head_of(txn)?,
            None => return Err(StoreError::Lost.into()),
        };
        Ok(Pinned { txn, head })
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

    /// Run `write` in a transaction and commit it; a full map is enlarged and `write` run again.
    pub(super) fn write<T>(
        &self,
        durability: impl Into<Durability>,
        write: impl Fn(&mut WriteTxn<'_>, &Tables) -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        let written = self.store.change(durability.into(), |txn| write(txn, &self.tables));
        written.map_err(|error| match error {
            StateError::Store(error) => self.store.explained(error).into(),
            error => error,
        })
    }

    /// Check that the file is in its place and usable: open, or soon open again after a failed write.
    pub(super) fn require_usable(&self) -> Result<(), StoreError> {
        self.store.require_usable()
    }

    /// Check that no read has met a damaged row since the file was opened.
    pub(super) fn require_undamaged(&self) -> Result<(), StoreError> {
        self.store.require_undamaged()
    }

    /// Return the number of reads of damaged rows since the file was opened.
    pub(super) fn damaged(&self) -> u64 {
        self.store.damaged()
    }

    /// Flush all committed changes to the disk.
    pub(super) fn sync(&self) -> Result<(), StateError> {
        Ok(self.store.sync()?)
    }

    /// Copy the last commit to the file `target`, without free pages.
    pub(super) fn copy(&self, target: &mut File) -> Result<(), StateError> {
        Ok(self.store.copy(target)?)
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
