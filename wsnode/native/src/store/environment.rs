//! LMDB environment: transactions, growth of the map, and reopening of the file after a failed write.

use std::fs::{File, OpenOptions};
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use heed::{CompactionOption, Env, EnvFlags, FlagSetMode, MdbError, WithoutTls};

use super::open_file::{Durability, OpenFile, Opening};
use super::pins::{Pin, Pins};
use super::table::{Handles, ReadTxn, WriteTxn};
use super::transaction::{SharedReadTxn, TransactionHandle};
use super::{file, space, FileIdentity, StoreError};

/// File opened for writing and closed after each commit, to wake readers of other processes: they watch the
/// folder.
const DOORBELL: &str = "doorbell";

/// Time for which a larger map waits until no thread of this process reads in it, while others may begin to.
const IDLE_PATIENCE: Duration = Duration::from_secs(1);
/// Further time for which a larger map waits for reading threads, while no other may begin to read.
const HELD_PATIENCE: Duration = Duration::from_secs(5);
/// Time for which a failed file may be unusable because a thread reads in its map.
const REOPENING_PATIENCE: Duration = Duration::from_secs(10);

/// Open LMDB file with its tables.
#[derive(Debug)]
pub struct Environment {
    opening: Opening,
    identity: FileIdentity,
    open: Mutex<Option<OpenFile>>,
    /// True while this process makes a change, or enlarges the map for one.
    changing: Mutex<bool>,
    changed: Condvar,
    pins: Arc<Pins>,
}

/// Snapshot with a read transaction of its own, which keeps the map in its place.
pub struct PinnedTxn {
    // Fields are dropped in this order: the transaction before the pin that keeps its map.
    txn: ReadTxn<'static>,
    _pin: Pin,
}

impl Deref for PinnedTxn {
    type Target = ReadTxn<'static>;

    fn deref(&self) -> &Self::Target {
        &self.txn
    }
}

/// Exclusive right to change an environment, until it is dropped.
#[derive(Debug)]
pub struct WriteGuard<'e>(&'e Environment);

impl Drop for WriteGuard<'_> {
    fn drop(&mut self) {
        *self.0.changing.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.changed.notify_one();
    }
}

impl Environment {
    /// Open a file; a writer creates missing folders, files and tables.
    pub fn open(opening: Opening) -> Result<Self, StoreError> {
        let open = OpenFile::open(&opening)?;
        let identity = FileIdentity::of(open.env()?, &opening.path)?;
        let (open, pins) = (Mutex::new(Some(open)), Arc::default());
        Ok(Self { opening, identity, open, changing: Mutex::new(false), changed: Condvar::new(), pins })
    }

    /// Return a snapshot of the last commit by any process, shared with other snapshots of the same version.
    pub fn read(&self) -> Result<TransactionHandle, StoreError> {
        self.with_open(|open| {
            self.require_open(open, false)?;
            // `newest` compares the number of the last change in the file's map, so a change by another
            // process counts as well.
            if let Some(version) = open.newest()? {
                return Ok(TransactionHandle::reading(version));
            }
            let txn = self.begin_reading(open)?;
            Ok(TransactionHandle::reading(open.share(txn)))
        })
    }

    /// Return a snapshot of the last commit with a read transaction that is not shared.
    pub fn read_alone(&self) -> Result<PinnedTxn, StoreError> {
        self.pins.wait_until_free();
        self.patiently(|| {
            self.with_open(|open| {
                let txn = self.begin_reading(open)?;
                Ok(PinnedTxn { txn, _pin: Pin::new(&self.pins, open.env()?) })
            })
        })
    }

    /// Return the last commit for later reads by one thread at a time, each of which must pin the map
    /// (`pin_kept`).
    ///
    /// It is None inside once the version was lost by a failed write.
    pub fn keep_version(&self) -> Result<Arc<SharedReadTxn>, StoreError> {
        self.patiently(|| {
            self.with_open(|open| {
                let txn = self.begin_reading(open)?;
                Ok(open.keep(txn))
            })
        })
    }

    fn begin_reading(&self, open: &mut OpenFile) -> Result<ReadTxn<'static>, StoreError> {
        self.require_open(open, false)?;
        if open.see_version()? {
            if let Some(size) = self.early_size(open)? {
                // A failure is ignored: a map that cannot grow early may grow later, when a transaction needs
                // the space.
                let _ = self.try_grow(open, size);
            }
        }
        match open.begin_reading() {
            // Another process has enlarged the file beyond this map.
            Err(StoreError::Lmdb(heed::Error::Mdb(MdbError::MapResized))) => {
                let size = file::larger(open.env()?);
                if !self.try_grow(open, size)? {
                    return Err(StoreError::MapBusy);
                }
                open.begin_reading()
            }
            begun => begun,
        }
    }

    /// Return the version of the file: the number of the last change by any process.
    pub fn version(&self) -> Result<usize, StoreError> {
        self.with_open(|open| Ok(open.env()?.info().last_txn_id))
    }

    /// Return how many versions of the file this process reads: each takes one of the folder's read
    /// transactions, and keeps LMDB from reusing its pages.
    pub fn versions(&self) -> usize {
        self.locked().as_ref().map_or(0, OpenFile::versions)
    }

    /// Return the number of reads of damaged rows since the file was opened.
    pub fn damaged(&self) -> u64 {
        self.locked().as_ref().map_or(0, |open| open.handles().damage().count())
    }

    /// Check that no read has met a damaged row since the file was opened; fail with the first one.
    pub fn require_undamaged(&self) -> Result<(), StoreError> {
        self.with_open(|open| match open.handles().damage().first() {
            Some(row) => Err(row.clone().into()),
            None => Ok(()),
        })
    }

    /// Check that the file is in its place and usable: open, or for less than 10 seconds waiting to be opened
    /// again after a failed write.
    pub fn require_usable(&self) -> Result<(), StoreError> {
        self.with_open(|open| {
            self.identity.require_in_place()?;
            let failed = open.failed_since();
            match self.require_open(open, false) {
                Err(StoreError::Reopening)
                    if failed.is_some_and(|since| since.elapsed() < REOPENING_PATIENCE) =>
                {
                    Ok(())
                }
                found => found.map_err(|error| self.explained(error)),
            }
        })
    }

    /// Wait until no other thread of this process makes a change, and return the right to make one.
    pub fn turn(&self) -> WriteGuard<'_> {
        let changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let free = self.changed.wait_while(changing, |changing| *changing);
        *free.unwrap_or_else(PoisonError::into_inner) = true;
        WriteGuard(self)
    }

    /// Begin a change; this waits until another process has ended its own.
    pub fn begin(&self, turn: &WriteGuard<'_>) -> Result<TransactionHandle, StoreError> {
        let (env, handles) = self.ready_to_change(turn, self.opening.durability)?;
        TransactionHandle::writing(env, handles)
    }

    /// Commit a change and end it.
    pub fn commit(&self, change: &TransactionHandle, turn: &WriteGuard<'_>) -> Result<(), StoreError> {
        change.commit().inspect_err(|_| self.look_at_failure(turn))
    }

    /// Run `write` in a transaction, commit it and return its result; if the map is full, enlarge it and run
    /// `write` again.
    pub fn change<T, E: From<StoreError>>(
        &self,
        durability: Durability,
        write: impl Fn(&mut WriteTxn<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let turn = self.turn();
        loop {
            let failure = match self.attempt(&turn, durability, &write)? {
                Ok(value) => return Ok(value),
                Err(failure) => failure,
            };
            match self.wanted_size(&failure)? {
                Some(size) => self.grow(size, &turn)?,
                None => return Err(self.explained(failure).into()),
            }
        }
    }

    /// Run `write` in a transaction and commit it.
    ///
    /// The inner result is the value of `write`, or a failure of the store. The outer error is that of
    /// `write` itself.
    fn attempt<T, E: From<StoreError>>(
        &self,
        turn: &WriteGuard<'_>,
        durability: Durability,
        write: impl Fn(&mut WriteTxn<'_>) -> Result<T, E>,
    ) -> Result<Result<T, StoreError>, E> {
        let (env, handles) = self.patiently(|| self.ready_to_change(turn, durability))?;
        let mut txn = match env.write_txn() {
            Ok(txn) => WriteTxn::new(txn, handles),
            Err(failure) => return Ok(Err(failure.into())),
        };
        let made = write(&mut txn);
        if txn.is_cut_short() {
            return Ok(Err(heed::Error::Mdb(MdbError::MapFull).into()));
        }
        let (value, committed) = (made?, txn.commit());
        drop(env);
        Ok(committed.inspect_err(|_| self.look_at_failure(turn)).map(|()| value))
    }

    fn ready_to_change(
        &self,
        _turn: &WriteGuard<'_>,
        durability: Durability,
    ) -> Result<(Env<WithoutTls>, Handles), StoreError> {
        self.identity.require_in_place()?;
        self.with_open(|open| {
            self.require_open(open, true)?;
            if let Some(size) = self.early_size(open)?.filter(|_| !self.pins.are_held()) {
                // A failure is ignored: a map that cannot grow early may grow later, when a transaction needs
                // the space.
                let _ = open.try_resize(size);
            }
            file::forget_killed_readers(open.env()?)?;
            open.see_version()?;
            let mode = |is_set| if is_set { FlagSetMode::Enable } else { FlagSetMode::Disable };
            // SAFETY: the turn keeps other threads from setting flags, and readers ignore these two flags.
            unsafe {
                open.env()?.set_flags(EnvFlags::NO_SYNC, mode(durability == Durability::NoSync))?;
                open.env()?.set_flags(EnvFlags::NO_META_SYNC, mode(durability == Durability::NoMetaSync))?;
            }
            Ok((open.env()?.clone(), open.handles().clone()))
        })
    }

    /// Open the file again if LMDB gave its environment up when a commit failed.
    fn look_at_failure(&self, _turn: &WriteGuard<'_>) {
        let _ = self.with_open(|open| {
            open.note_failure();
            // If the file cannot be opened again yet, each later use tries to open it.
            self.require_open(open, true)
        });
    }

    /// Check that the file is open; open it again after a failed write, or fail with `Reopening` while its
    /// map is read.
    fn require_open(&self, open: &mut OpenFile, has_turn: bool) -> Result<(), StoreError> {
        if open.failed_since().is_none() {
            return Ok(());
        }
        self.identity.require_in_place()?;
        let changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let is_idle = (has_turn || !*changing) && !self.pins.are_held();
        match is_idle.then(|| open.try_reopen(&self.opening)) {
            Some(Ok(true)) => Ok(()),
            Some(Ok(false)) | None => Err(StoreError::Reopening),
            Some(Err(_)) => Err(StoreError::Failed(self.path().display().to_string())),
        }
    }

    /// Wake the processes that watch the folder after a commit.
    ///
    /// A process that misses this finds the commit nevertheless, only later.
    pub fn ring(&self) {
        let _ = file::open_regular(&self.path().join(DOORBELL), OpenOptions::new().append(true).create(true));
    }

    fn early_size(&self, open: &OpenFile) -> Result<Option<usize>, StoreError> {
        Ok(file::early_size(open.env()?).filter(|_| self.opening.grows))
    }

    /// Return the size in bytes that the map needs if `error` is caused by a map too small for a change, else
    /// None.
    pub fn wanted_size(&self, error: &StoreError) -> Result<Option<usize>, StoreError> {
        match error {
            StoreError::Lmdb(error) if self.opening.grows => self.with_open(|open| match open.env() {
                Ok(env) => Ok(file::wanted_size(env, error)),
                Err(_) => Ok(None),
            }),
            _ => Ok(None),
        }
    }

    /// Enlarge the map between two changes, once no thread reads in it; fail with `MapBusy` after 6 seconds.
    pub fn grow(&self, size: usize, _turn: &WriteGuard<'_>) -> Result<(), StoreError> {
        self.patiently(|| {
            match self.with_open(|open| Ok(!self.pins.are_held() && open.try_resize(size)?))? {
                true => Ok(()),
                false => Err(StoreError::MapBusy),
            }
        })
    }

    /// Enlarge the map outside of changes; return false during a change, or if a thread reads in it at this
    /// moment.
    fn try_grow(&self, open: &mut OpenFile, size: usize) -> Result<bool, StoreError> {
        let changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(!*changing && !self.pins.are_held() && open.try_resize(size)?)
    }

    /// Repeat `attempt`, for 6 seconds at most, while it fails because a thread reads in the map.
    fn patiently<T>(&self, attempt: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let (mut held, mut began) = (None, None);
        loop {
            let failure = match attempt() {
                Err(failure @ (StoreError::MapBusy | StoreError::Reopening)) => failure,
                done => return done,
            };
            let waited = began.get_or_insert_with(Instant::now).elapsed();
            if waited > IDLE_PATIENCE + HELD_PATIENCE {
                return Err(failure);
            }
            // A reading thread may need another snapshot to finish, so new snapshots are held back only after
            // `IDLE_PATIENCE`.
            if waited > IDLE_PATIENCE && held.is_none() {
                held = Some(self.pins.hold_back());
            }
            sleep(Duration::from_millis(1));
        }
    }

    /// Keep the map in its place until the pin is dropped, even if the file is closed.
    pub fn pin(&self) -> Result<Pin, StoreError> {
        self.with_open(|open| Ok(Pin::new(&self.pins, open.env()?)))
    }

    /// Keep the map in its place for reads of a kept version; this waits while no thread may begin to read.
    pub fn pin_kept(&self) -> Result<Pin, StoreError> {
        self.pins.wait_until_free();
        self.patiently(|| {
            self.with_open(|open| {
                self.require_open(open, false)?;
                Ok(Pin::new(&self.pins, open.env()?))
            })
        })
    }

    /// Copy the last commit to the file `target`, without free pages.
    pub fn copy(&self, target: &mut File) -> Result<(), StoreError> {
        // The copy reads the map directly, as a view does, so it pins the map.
        let pin = self.pin()?;
        Ok(pin.env().copy_to_file(target, CompactionOption::Enabled)?)
    }

    /// Return the size of the map in bytes, up to which the file can grow.
    pub fn map_size(&self) -> Result<usize, StoreError> {
        self.with_open(|open| Ok(open.env()?.info().map_size))
    }

    #[cfg(test)]
    pub fn file_size(&self) -> Result<u64, StoreError> {
        self.with_open(|open| Ok(open.env()?.real_disk_size()?))
    }

    /// Flush all committed changes to the disk.
    pub fn sync(&self) -> Result<(), StoreError> {
        let env = self.with_open(|open| Ok(open.env()?.clone()))?;
        env.force_sync().map_err(|error| self.explained(error.into()))
    }

    /// Close the file; its open snapshots are lost.
    pub fn close(&self) {
        if let Some(mut open) = self.locked().take() {
            open.lose_snapshots();
        }
    }

    /// Convert an error of a change to one with the folder's path and its cause, such as a full disk.
    pub fn explained(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::Lmdb(reason) if space::is_lacking(self.path(), &reason) => {
                StoreError::NoSpace(self.path().display().to_string())
            }
            StoreError::Lmdb(heed::Error::Mdb(MdbError::Panic)) | StoreError::Reopening => {
                StoreError::Failed(self.path().display().to_string())
            }
            StoreError::Lmdb(reason) => {
                StoreError::Unusable { path: self.path().display().to_string(), reason }
            }
            other => other,
        }
    }

    fn path(&self) -> &Path {
        &self.opening.path
    }

    fn with_open<T>(
        &self,
        work: impl FnOnce(&mut OpenFile) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        work(self.locked().as_mut().ok_or(StoreError::Closed)?)
    }

    fn locked(&self) -> MutexGuard<'_, Option<OpenFile>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
