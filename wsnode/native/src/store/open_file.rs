//! File while it is open: LMDB's environment and tables, and the versions that this process reads.
//!
//! All of it can be replaced by the same file opened again: LMDB gives an environment up after a failed write
//! of a meta page (decision 0070). Handles of LMDB are held only here, by transactions, and by pins of the
//! map.

use std::path::PathBuf;
use std::sync::{Arc, MutexGuard, PoisonError, TryLockError, Weak};
use std::time::{Duration, Instant};

use heed::{Env, EnvFlags, MdbError, WithoutTls};

use super::damage::DamageLog;
use super::table::{Handles, ReadTxn};
use super::transaction::SharedReadTxn;
use super::{file, require_not_empty, require_untruncated, IntegrityError, StoreError};

/// Number of versions from which those without a reader are dropped.
const REMEMBERED: usize = 64;
/// Time to wait for a thread that is just ending its use of the old environment.
const CLOSING: Duration = Duration::from_secs(1);

/// Moment from which a change survives a power failure; the end of a process loses none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Durable when the commit returns, after two fsyncs.
    Full,
    /// Durable with the next sync; the commit does one fsync. A power failure before that sync undoes the
    /// change, and no other.
    NoMetaSync,
    /// Durable with the next sync; the operating system writes the pages, and a power failure may destroy the
    /// file.
    NoSync,
}

impl From<bool> for Durability {
    fn from(sync: bool) -> Self {
        match sync {
            true => Self::Full,
            false => Self::NoSync,
        }
    }
}

/// Parameters with which a file is opened, the first time and again.
#[derive(Debug)]
pub struct Opening {
    pub path: PathBuf,
    pub names: Vec<String>,
    pub writer: bool,
    pub durability: Durability,
    /// Bytes of the map; a larger file has a larger map.
    pub map_size: usize,
    /// True if the map grows with the file; else changes fail when it is full.
    pub grows: bool,
}

impl Opening {
    fn open(&self) -> Result<Env<WithoutTls>, StoreError> {
        let tables = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let mut flags = EnvFlags::NO_READ_AHEAD;
        flags.set(EnvFlags::READ_ONLY, !self.writer);
        flags.set(EnvFlags::NO_SYNC, self.durability == Durability::NoSync);
        file::open(&self.path, tables, flags, self.map_size).map_err(|error| match error {
            IntegrityError::Lmdb(reason) => self.unusable(reason),
            error => error.into(),
        })
    }

    fn unusable(&self, reason: heed::Error) -> StoreError {
        StoreError::Unusable { path: self.path.display().to_string(), reason }
    }

    fn failed(&self) -> StoreError {
        StoreError::Failed(self.path.display().to_string())
    }
}

#[derive(Debug)]
pub(super) struct OpenFile {
    /// LMDB environment; None while LMDB cannot open the file again.
    env: Option<Env<WithoutTls>>,
    handles: Handles,
    /// Versions shared by several snapshots, the newest last; the readers of some may all have ended.
    shared: Vec<SharedVersion>,
    /// Versions that one reader keeps for itself.
    kept: Vec<SharedVersion>,
    prune_at: usize,
    /// Version found by the last snapshot or change.
    seen: usize,
    /// Time of the failure after which the file must be opened again.
    failed: Option<Instant>,
}

type SharedVersion = (usize, Weak<SharedReadTxn>);

impl OpenFile {
    /// Open a file; a writer creates missing folders, files and tables.
    pub fn open(opening: &Opening) -> Result<Self, StoreError> {
        let Opening { path, names, writer, .. } = opening;
        if *writer {
            file::make_folder(path)?;
        } else {
            require_not_empty(path)?;
        }
        let env = opening.open()?;
        require_untruncated(&env, path)?;
        let damage = Arc::new(DamageLog::new(path, names));
        let handles = if *writer { Handles::create(&env, &damage) } else { Handles::open(&env, &damage) };
        let handles = handles.map_err(|reason| opening.unusable(reason))?;
        let handles = handles.ok_or_else(|| StoreError::NoTables(path.display().to_string()))?;
        let (seen, shared, kept) = (env.info().last_txn_id, Vec::new(), Vec::new());
        Ok(Self { env: Some(env), handles, shared, kept, prune_at: REMEMBERED, seen, failed: None })
    }

    pub fn env(&self) -> Result<&Env<WithoutTls>, StoreError> {
        self.env.as_ref().filter(|_| self.failed.is_none()).ok_or(StoreError::Reopening)
    }

    pub fn handles(&self) -> &Handles {
        &self.handles
    }

    /// Begin a read transaction of the last commit by any process.
    pub fn begin_reading(&self) -> Result<ReadTxn<'static>, StoreError> {
        let env = self.env()?;
        match file::reading(env, || env.clone().static_read_txn()) {
            Err(heed::Error::Mdb(MdbError::ReadersFull)) => Err(StoreError::TooManySnapshots),
            begun => Ok(ReadTxn::new(begun?, self.handles.clone())),
        }
    }

    /// Record the newest version, and return true if it differs from the one recorded before.
    pub fn see_version(&mut self) -> Result<bool, StoreError> {
        let found = self.env()?.info().last_txn_id;
        Ok(std::mem::replace(&mut self.seen, found) != found)
    }

    /// Return the newest version if it is read and shared already, else None.
    pub fn newest(&self) -> Result<Option<Arc<SharedReadTxn>>, StoreError> {
        let number = self.env()?.info().last_txn_id;
        let last = self.shared.last().filter(|(newest, _)| *newest == number);
        Ok(last.and_then(|(_, version)| version.upgrade()))
    }

    /// Record a version for all later snapshots of it to share.
    pub fn share(&mut self, txn: ReadTxn<'static>) -> Arc<SharedReadTxn> {
        self.prune();
        noted(&mut self.shared, txn)
    }

    /// Record a version that others do not share.
    pub fn keep(&mut self, txn: ReadTxn<'static>) -> Arc<SharedReadTxn> {
        self.prune();
        noted(&mut self.kept, txn)
    }

    fn prune(&mut self) {
        if self.shared.len() + self.kept.len() < self.prune_at {
            return;
        }
        for versions in [&mut self.shared, &mut self.kept] {
            versions.retain(|(_, version)| version.strong_count() > 0);
        }
        self.prune_at = REMEMBERED.max(2 * (self.shared.len() + self.kept.len()));
    }

    /// Return the number of versions that are read.
    pub fn versions(&self) -> usize {
        self.all_versions().filter(|(_, version)| version.strong_count() > 0).count()
    }

    fn all_versions(&self) -> impl Iterator<Item = &SharedVersion> {
        self.shared.iter().chain(&self.kept)
    }

    fn read_versions(&self) -> Vec<(usize, Arc<SharedReadTxn>)> {
        let read = |(number, version): &SharedVersion| Some((*number, version.upgrade()?));
        self.all_versions().filter_map(read).collect()
    }

    pub fn lose_snapshots(&mut self) {
        for (_, version) in self.read_versions() {
            *version.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        (self.shared, self.kept) = Default::default();
    }

    /// Enlarge the map to `size` bytes and return true; return false if a thread reads in a version at this
    /// moment.
    ///
    /// The snapshots stay valid in the larger map. The caller must prevent changes, and reads of the map
    /// outside of versions.
    pub fn try_resize(&mut self, size: usize) -> Result<bool, StoreError> {
        let versions = self.read_versions();
        let Some(_held) = held_all(&versions) else { return Ok(false) };
        // SAFETY: `_held` locks all snapshots, no snapshot begins while `self` is borrowed, and the caller
        // prevents changes.
        unsafe { file::resize(self.env()?, size)? };
        Ok(true)
    }

    /// Record a failure if LMDB gave the environment up when a commit failed.
    pub fn note_failure(&mut self) {
        let Some(env) = &self.env else { return };
        if matches!(env.read_txn(), Err(heed::Error::Mdb(MdbError::Panic))) {
            self.failed = Some(Instant::now());
        }
    }

    /// Return the time of the failure after which the file must be opened again, or None.
    pub fn failed_since(&self) -> Option<Instant> {
        self.failed
    }

    /// Open the file again after a failed write and return true; return false if a thread reads in a version
    /// at this moment.
    ///
    /// Snapshots of the last version continue in the new environment; older ones are lost. The caller must
    /// prevent changes, and reads of the map outside of versions.
    pub fn try_reopen(&mut self, opening: &Opening) -> Result<bool, StoreError> {
        let versions = self.read_versions();
        let Some(mut held) = held_all(&versions) else { return Ok(false) };
        held.iter_mut().for_each(|txn| **txn = None);
        if let Some(env) = self.env.take() {
            env.prepare_for_closing().wait_timeout(CLOSING);
        }
        let env = match opening.open() {
            Err(StoreError::Unusable { reason: heed::Error::EnvAlreadyOpened, .. }) => return Ok(false),
            opened => opened?,
        };
        // A change that was reported as failed must not be in the file. A file without full durability is not
        // checked, because it may have other writers.
        let found = env.info().last_txn_id;
        if found != self.seen && opening.durability == Durability::Full {
            return Err(opening.failed());
        }
        let handles = Handles::open(&env, self.handles.damage())?;
        self.handles = handles.ok_or_else(|| opening.failed())?;
        (self.env, self.failed) = (Some(env), None);
        for ((number, _), txn) in versions.iter().zip(&mut held) {
            if *number == found {
                **txn = Some(self.begin_reading()?);
            }
        }
        Ok(true)
    }
}

fn noted(versions: &mut Vec<SharedVersion>, txn: ReadTxn<'static>) -> Arc<SharedReadTxn> {
    let number = txn.id();
    let version = Arc::new(SharedReadTxn::new(Some(txn)));
    versions.push((number, Arc::downgrade(&version)));
    version
}

type Held<'v> = MutexGuard<'v, Option<ReadTxn<'static>>>;

/// Lock all versions; return None if a thread reads in one at this moment.
fn held_all(versions: &[(usize, Arc<SharedReadTxn>)]) -> Option<Vec<Held<'_>>> {
    let held = versions.iter().map(|(_, version)| match version.try_lock() {
        Ok(txn) => Some(txn),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    });
    held.collect()
}
