//! The LMDB environment: opening, transactions, the growth of the map.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use heed::types::Bytes;
use heed::{
    CommitOrAbort, CommitToken, CompactionOption, Database, Env, EnvFlags, MdbError, OnCommit, RoTxn,
    WithoutTls,
};

use super::transaction::{Transaction, Version};
use super::{file, require_begun, require_whole, space, StoreError, Table};

/// The number of versions to keep before unread ones are dropped.
const REMEMBERED: usize = 64;

/// A file in the folder that is opened for writing and closed after each commit, for readers who watch the folder.
const DOORBELL: &str = "doorbell";

/// An open file, and its tables in the order of their names.
#[derive(Debug)]
pub struct Environment {
    path: PathBuf,
    pub tables: Vec<Table>,
    open: Mutex<Option<Open>>,
    /// Whether a change is under way in this process, or the map being enlarged for one.
    changing: Mutex<bool>,
    changed: Condvar,
    views: Arc<AtomicUsize>,
}

/// Keeps the map where it is, until it is dropped.
#[derive(Debug)]
pub struct Pin {
    views: Arc<AtomicUsize>,
    env: Env<WithoutTls>,
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.views.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The turn to change an environment, until it is dropped.
#[derive(Debug)]
pub struct Turn<'e>(&'e Environment);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.changing.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.changed.notify_one();
    }
}

#[derive(Debug)]
struct Open {
    env: Env<WithoutTls>,
    /// The versions that are read, the newest last; of some every reader is gone.
    versions: Vec<(usize, Weak<Version>)>,
    prune_at: usize,
}

impl Environment {
    /// Open the file in the folder `path`; a writer creates what is missing.
    ///
    /// With `durable` each change is on the disk once it is committed; without, at the next `sync`, and a power failure
    /// (not a killed process) before that may cost the file.
    pub fn open(
        path: &Path,
        names: &[String],
        writer: bool,
        durable: bool,
        map_size: usize,
    ) -> Result<Self, StoreError> {
        if writer {
            std::fs::create_dir_all(path)
                .map_err(|reason| StoreError::Folder(path.display().to_string(), reason))?;
        } else {
            require_begun(path)?;
        }
        let unusable = |reason| StoreError::Unusable { path: path.display().to_string(), reason };
        let tables = u32::try_from(names.len()).unwrap_or(u32::MAX);
        let env = file::open(path, tables, flags(writer, durable), map_size).map_err(unusable)?;
        require_whole(&env, path)?;
        let tables = if writer { create_tables(&env, names) } else { open_tables(&env, names) };
        let tables =
            tables.map_err(unusable)?.ok_or_else(|| StoreError::NoTables(path.display().to_string()))?;
        let open = Open { env, versions: Vec::new(), prune_at: REMEMBERED };
        let (path, open) = (path.to_owned(), Mutex::new(Some(open)));
        Ok(Self {
            path,
            tables,
            open,
            changing: Mutex::new(false),
            changed: Condvar::new(),
            views: Arc::default(),
        })
    }

    /// A snapshot of what is committed now, by any process.
    pub fn read(&self) -> Result<Transaction, StoreError> {
        let mut guard = self.locked();
        let open = guard.as_mut().ok_or(StoreError::Closed)?;
        // Another process's change counts as well: the file's map has the number of the last one.
        if let Some(version) = open.newest(open.env.info().last_txn_id) {
            return Ok(Transaction::reading(version));
        }
        let txn = match open.begin_reading() {
            // The writer's process has enlarged the map: take its size over.
            Err(heed::Error::Mdb(MdbError::MapResized)) => {
                let changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
                if *changing || self.is_viewed() {
                    return Err(heed::Error::Mdb(MdbError::MapResized).into());
                }
                open.resize(0)?;
                open.begin_reading()
            }
            begun => begun,
        };
        let txn = txn.map_err(|reason| match reason {
            heed::Error::Mdb(MdbError::ReadersFull) => StoreError::TooManySnapshots,
            reason => reason.into(),
        })?;
        Ok(Transaction::reading(open.remember(txn)))
    }

    /// What the last change has made the file's version, whatever process has made it.
    pub fn version(&self) -> Result<usize, StoreError> {
        Ok(self.locked().as_ref().ok_or(StoreError::Closed)?.env.info().last_txn_id)
    }

    /// How many versions of the file this process reads: each has one of the folder's read transactions, and keeps
    /// its pages from being used again.
    pub fn versions(&self) -> usize {
        self.locked().as_ref().map_or(0, Open::versions)
    }

    /// The turn to change something, once no other thread of this process has it.
    pub fn turn(&self) -> Turn<'_> {
        let changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let free = self.changed.wait_while(changing, |changing| *changing);
        *free.unwrap_or_else(PoisonError::into_inner) = true;
        Turn(self)
    }

    /// Begin the one change; this waits for another process's to end.
    pub fn begin(&self, _turn: &Turn<'_>) -> Result<Transaction, StoreError> {
        let env = self.env()?;
        file::forget_killed_readers(&env)?;
        Transaction::writing(env)
    }

    /// Wake the processes that watch the folder, since something has been committed.
    ///
    /// A process that is not woken finds it nevertheless, only later.
    pub fn ring(&self) {
        let _ = OpenOptions::new().append(true).create(true).open(self.path.join(DOORBELL));
    }

    /// The size that the map needs for a change that `error` has cut short, if that was the reason; 0 stands for what
    /// another process has made of it.
    pub fn wanted_size(&self, error: &StoreError) -> Result<Option<usize>, StoreError> {
        match error {
            StoreError::Lmdb(error) => Ok(file::wanted_size(&self.env()?, error)),
            _ => Ok(None),
        }
    }

    /// Enlarge the map between two changes, while it has no view; snapshots end with the old one.
    pub fn grow(&self, size: usize, _turn: &Turn<'_>) -> Result<(), StoreError> {
        let mut open = self.locked();
        let grown = open.as_mut().ok_or(StoreError::Closed)?.resize(size);
        if grown.is_err() {
            // The old map is gone, and there may be no new one.
            *open = None;
        }
        grown
    }

    /// Have the map stay where it is, even if the file is closed.
    pub fn pin(&self) -> Result<Pin, StoreError> {
        let pin = Pin { views: self.views.clone(), env: self.env()? };
        self.views.fetch_add(1, Ordering::AcqRel);
        Ok(pin)
    }

    /// Whether a view keeps the map where it is.
    pub fn is_viewed(&self) -> bool {
        self.views.load(Ordering::Acquire) > 0
    }

    /// Write what is committed at some moment of the call to `target`, as a file without free pages.
    pub fn copy(&self, target: &mut File) -> Result<(), StoreError> {
        // The copy reads in the map, as a view does.
        let pin = self.pin()?;
        Ok(pin.env.copy_to_file(target, CompactionOption::Enabled)?)
    }

    /// How far the file can grow before its map has to, in bytes.
    pub fn map_size(&self) -> Result<usize, StoreError> {
        Ok(self.env()?.info().map_size)
    }

    /// Bring all committed changes to the disk.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.env()?.force_sync().map_err(|error| self.explained(error.into()))
    }

    /// Close the file; snapshots still open end with it.
    pub fn close(&self) {
        if let Some(mut open) = self.locked().take() {
            open.lose_snapshots();
        }
    }

    /// The error of a change in an operator's words.
    pub fn explained(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::Lmdb(reason) if space::is_lacking(&self.path, &reason) => {
                StoreError::NoSpace(self.path.display().to_string())
            }
            StoreError::Lmdb(reason) => {
                StoreError::Unusable { path: self.path.display().to_string(), reason }
            }
            other => other,
        }
    }

    fn env(&self) -> Result<Env<WithoutTls>, StoreError> {
        Ok(self.locked().as_ref().ok_or(StoreError::Closed)?.env.clone())
    }

    fn locked(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn begin_reading(&self) -> heed::Result<RoTxn<'static, WithoutTls>> {
        file::reading(&self.env, || self.env.clone().static_read_txn())
    }

    /// The version `number`, if it is read already.
    fn newest(&self, number: usize) -> Option<Arc<Version>> {
        self.versions.last().filter(|(newest, _)| *newest == number)?.1.upgrade()
    }

    fn remember(&mut self, txn: RoTxn<'static, WithoutTls>) -> Arc<Version> {
        if self.versions.len() >= self.prune_at {
            self.versions.retain(|(_, version)| version.strong_count() > 0);
            self.prune_at = REMEMBERED.max(2 * self.versions.len());
        }
        let number = txn.id();
        let version = Arc::new(Mutex::new(Some(txn)));
        self.versions.push((number, Arc::downgrade(&version)));
        version
    }

    fn versions(&self) -> usize {
        self.versions.iter().filter(|(_, version)| version.strong_count() > 0).count()
    }

    fn lose_snapshots(&mut self) {
        for version in self.versions.drain(..).filter_map(|(_, version)| version.upgrade()) {
            *version.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// Enlarge the map to `size` bytes, or to what another process has made of it; snapshots end with the old one.
    fn resize(&mut self, size: usize) -> Result<(), StoreError> {
        self.lose_snapshots();
        // SAFETY: there is no transaction in this process: the snapshots have just been ended, none begins while this
        // is locked, and a writer comes here between two transactions.
        unsafe { self.env.resize(size)? };
        Ok(())
    }
}

fn flags(writer: bool, durable: bool) -> EnvFlags {
    let mut flags = EnvFlags::NO_READ_AHEAD;
    flags.set(EnvFlags::READ_ONLY, !writer);
    flags.set(EnvFlags::NO_SYNC, !durable);
    flags
}

/// Tables that are being opened.
struct Handles<'e>(Vec<Database<'e, Bytes, Bytes>>);

impl OnCommit for Handles<'_> {
    type Committed = Vec<Table>;

    fn on_commit(self, token: &CommitToken) -> Vec<Table> {
        self.0.into_iter().map(|table| table.on_commit(token)).collect()
    }
}

fn create_tables(env: &Env<WithoutTls>, names: &[String]) -> heed::Result<Option<Vec<Table>>> {
    let done = env.create_databases_and_commit(env.write_txn()?, |opener, txn| {
        let tables = names.iter().map(|name| opener.create_database::<Bytes, Bytes>(txn, Some(name)));
        let tables = tables.collect::<heed::Result<Vec<_>>>()?;
        heed::Result::Ok(CommitOrAbort::<_, ()>::Commit(Handles(tables)))
    })?;
    Ok(done.commit())
}

fn open_tables(env: &Env<WithoutTls>, names: &[String]) -> heed::Result<Option<Vec<Table>>> {
    let done = env.open_databases_and_commit(env.read_txn()?, |opener, txn| {
        let tables = names.iter().map(|name| opener.open_database::<Bytes, Bytes>(txn, Some(name)));
        let tables = tables.collect::<heed::Result<Option<Vec<_>>>>()?;
        heed::Result::Ok(match tables {
            Some(tables) => CommitOrAbort::Commit(Handles(tables)),
            None => CommitOrAbort::Abort(()),
        })
    })?;
    Ok(done.commit())
}
