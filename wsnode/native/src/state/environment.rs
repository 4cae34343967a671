//! The LMDB environment: opening, read snapshots, write transactions and the growth of the map.

use super::layout::tables::{Head, Tables};
use super::proved::{Base, BaseView, Below, Moments};
use super::StateError;
use crate::store::{file, require_begun, require_whole, space};
use alloy_eips::BlockNumHash;
use heed::{CompactionOption, Env, EnvFlags, FlagSetMode, MdbError, RoTxn, RwTxn, WithoutTls};
use std::fs::File;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Tables that the file may have.
const TABLES: u32 = 16;
/// How long a reader that needs a larger map waits for the other readers of its process.
const RESIZE_PATIENCE: Duration = Duration::from_secs(5);

/// When a commit is safe from a power failure; a killed process loses none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Once it returns, after two fsyncs.
    Now,
    /// With the next sync, after one fsync; a power failure before that undoes the commit, and no other.
    Whole,
    /// With the next sync; the pages are left to the operating system, and a power failure may cost the file.
    Later,
}

impl From<bool> for Kept {
    fn from(sync: bool) -> Self {
        match sync {
            true => Self::Now,
            false => Self::Later,
        }
    }
}

/// An open environment and its tables.
#[derive(Debug)]
pub(super) struct Environment {
    env: Env<WithoutTls>,
    tables: Tables,
    /// Held by the one write transaction.
    writing: Mutex<()>,
    readers: Mutex<Readers>,
    changed: Condvar,
    below: Below,
}

/// The map may only be resized while this process has no transaction.
#[derive(Debug, Default)]
struct Readers {
    snapshots: usize,
    /// No snapshot may begin.
    resizing: bool,
    /// The head that the latest snapshot found, and the transaction that committed it.
    head: Option<(usize, Head)>,
}

/// One read transaction: the store as of one commit.
pub(super) struct Snapshot<'e> {
    pub(super) txn: RoTxn<'e, WithoutTls>,
    pub(super) tables: &'e Tables,
    /// The committed head; the default one before the genesis state is written.
    pub(super) head: Head,
    /// What is read where this chain has no value.
    pub(super) base: Option<BaseView<'e>>,
    /// Whether that is all there is to read: the tables say nothing of this block.
    pub(super) is_proved: bool,
    // Declared, hence dropped, after `txn`.
    _active: Active<'e>,
}

#[derive(Debug)]
struct Active<'e>(&'e Environment);

impl Drop for Active<'_> {
    fn drop(&mut self) {
        let mut readers = self.0.readers();
        readers.snapshots -= 1;
        // Notifying is a system call, which only a resize waits for.
        if readers.resizing {
            self.0.changed.notify_all();
        }
    }
}

impl Environment {
    /// Open the environment in the folder `path`; a writer creates what is missing.
    pub(super) fn open(path: &Path, writer: bool, map_size: usize) -> Result<Self, StateError> {
        if writer {
            std::fs::create_dir_all(path)?;
        }
        let mut flags = EnvFlags::empty();
        if !writer {
            require_begun(path)?;
            flags |= EnvFlags::READ_ONLY;
        }
        let env = file::open(path, TABLES, flags, map_size)?;
        require_whole(&env, path)?;
        let tables = if writer {
            Tables::create(&env).map_err(|error| explained(path, error))?
        } else {
            Tables::open(&env)?
        };
        let (writing, readers, changed) = <_>::default();
        Ok(Self { env, tables, writing, readers, changed, below: Below::Nowhere })
    }

    /// Read what has no value here from the state below.
    pub(super) fn put_on(&mut self, below: Below) {
        self.below = below;
    }

    /// The state below the first block, where that is another chain's.
    pub(super) fn base(&self) -> Option<&Base> {
        match &self.below {
            Below::First(base) => Some(base),
            _ => None,
        }
    }

    /// The states after each block, where nothing is executed.
    pub(super) fn moments(&self) -> Option<&Moments> {
        match &self.below {
            Below::Each(moments) => Some(moments),
            _ => None,
        }
    }

    /// The store as of the last commit, for reading the state after a block, which it must have.
    pub(super) fn read_after(&self, block: BlockNumHash) -> Result<Snapshot<'_>, StateError> {
        let mut snapshot = self.read()?;
        if let Some(moments) = self.moments() {
            let base = moments.view(block)?;
            snapshot.head = base.block;
            snapshot.base = Some(base);
            snapshot.is_proved = true;
        }
        snapshot.require(block)?;
        Ok(snapshot)
    }

    /// The store as of the last commit.
    pub(super) fn read(&self) -> Result<Snapshot<'_>, StateError> {
        let free = self.changed.wait_while(self.readers(), |readers| readers.resizing);
        let mut readers = free.unwrap_or_else(PoisonError::into_inner);
        let txn = match self.begin_reading() {
            // The writer's process has enlarged the map: take its size over.
            Err(failure @ heed::Error::Mdb(MdbError::MapResized)) => {
                readers = self.resize(readers, 0, failure)?;
                self.begin_reading()?
            }
            begun => begun?,
        };
        let head = match readers.head.filter(|(id, _)| *id == txn.id()) {
            Some((_, head)) => head,
            None => self.tables.head(&txn)?.unwrap_or_default(),
        };
        let base = self.base().map(BaseView::new).transpose()?;
        readers.head = Some((txn.id(), head));
        readers.snapshots += 1;
        Ok(Snapshot { txn, tables: &self.tables, head, base, is_proved: false, _active: Active(self) })
    }

    fn begin_reading(&self) -> heed::Result<RoTxn<'_, WithoutTls>> {
        file::reading(&self.env, || self.env.read_txn())
    }

    /// Wait until no snapshot of this process is left, and resize the map.
    fn resize<'m>(
        &self,
        mut readers: MutexGuard<'m, Readers>,
        size: usize,
        failure: heed::Error,
    ) -> Result<MutexGuard<'m, Readers>, StateError> {
        readers.resizing = true;
        let busy = |readers: &mut Readers| readers.snapshots > 0;
        let idle = self.changed.wait_timeout_while(readers, RESIZE_PATIENCE, busy);
        let (mut readers, waited) = idle.unwrap_or_else(PoisonError::into_inner);
        readers.resizing = false;
        self.changed.notify_all();
        if waited.timed_out() {
            return Err(failure.into());
        }
        // SAFETY: there is no transaction in this process: no snapshot is left, none begins while
        // `readers` is locked, and the one writer comes here between its transactions.
        unsafe { self.env.resize(size)? };
        Ok(readers)
    }

    /// Run `write` in a transaction and commit it; a full map is enlarged and `write` run again.
    pub(super) fn write<T>(
        &self,
        kept: impl Into<Kept>,
        write: impl Fn(&mut RwTxn<'_>, &Tables) -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = kept.into();
        let mode = |is_set| if is_set { FlagSetMode::Enable } else { FlagSetMode::Disable };
        // SAFETY: `writing` keeps a second thread from setting flags, and readers do not heed these.
        unsafe {
            self.env.set_flags(EnvFlags::NO_SYNC, mode(kept == Kept::Later))?;
            self.env.set_flags(EnvFlags::NO_META_SYNC, mode(kept == Kept::Whole))?;
        }
        loop {
            let failure = match self.attempt(&write) {
                Err(StateError::Lmdb(failure)) => failure,
                done => return done,
            };
            match file::wanted_size(&self.env, &failure) {
                Some(size) => drop(self.resize(self.readers(), size, failure)?),
                None => return Err(explained(self.env.path(), failure.into())),
            }
        }
    }

    fn attempt<T>(
        &self,
        write: impl Fn(&mut RwTxn<'_>, &Tables) -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        file::forget_killed_readers(&self.env)?;
        let mut txn = self.env.write_txn()?;
        let value = write(&mut txn, &self.tables)?;
        txn.commit()?;
        Ok(value)
    }

    /// Bring everything committed to the disk.
    pub(super) fn sync(&self) -> Result<(), StateError> {
        self.env.force_sync().map_err(|error| explained(self.env.path(), error.into()))
    }

    /// Write what is committed at some moment of the call to `target`, as a file without free pages.
    pub(super) fn copy(&self, target: &mut File) -> Result<(), StateError> {
        // The map is not resized beside a snapshot; the copy reads in it as well.
        let _snapshot = self.read()?;
        Ok(self.env.copy_to_file(target, CompactionOption::Enabled)?)
    }

    #[cfg(test)]
    pub(super) fn file_size(&self) -> Result<u64, StateError> {
        Ok(self.env.real_disk_size()?)
    }

    fn readers(&self) -> MutexGuard<'_, Readers> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error in an operator's words.
fn explained(path: &Path, error: StateError) -> StateError {
    match error {
        StateError::Lmdb(reason) if space::is_lacking(path, &reason) => {
            StateError::NoSpace(path.display().to_string())
        }
        other => other,
    }
}
