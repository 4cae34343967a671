//! The LMDB environment: transactions, the growth of the map, and opening the file anew after a failed write.

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
use super::transaction::{SharedReadTxn, Transaction};
use super::{file, space, FileIdentity, StoreError};

/// A file in the folder that is opened for writing and closed after each commit, for readers who watch the folder.
const DOORBELL: &str = "doorbell";

/// How long a larger map waits for a moment in which nothing of this process reads, while others may begin to.
const IDLE_PATIENCE: Duration = Duration::from_secs(1);
/// How long it waits after that for those that read, while no other begins.
const HELD_PATIENCE: Duration = Duration::from_secs(5);
/// How long a failed file may be unusable because something reads in its map.
const REOPENING_PATIENCE: Duration = Duration::from_secs(10);

/// An open file.
#[derive(Debug)]
pub struct Environment {
    opening: Opening,
    identity: FileIdentity,
    open: Mutex<Option<OpenFile>>,
    /// Whether a change is under way in this process, or the map being enlarged for one.
    changing: Mutex<bool>,
    changed: Condvar,
    pins: Arc<Pins>,
}

/// A snapshot of its own, which keeps the map in its place.
pub struct PinnedTxn {
    // Declared, hence dropped, before what keeps its map.
    txn: ReadTxn<'static>,
    _pin: Pin,
}

impl Deref for PinnedTxn {
    type Target = ReadTxn<'static>;

    fn deref(&self) -> &Self::Target {
        &self.txn
    }
}

/// The turn to change an environment, until it is dropped.
#[derive(Debug)]
pub struct WriteGuard<'e>(&'e Environment);

impl Drop for WriteGuard<'_> {
    fn drop(&mut self) {
        *self.0.changing.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.changed.notify_one();
    }
}

impl Environment {
    /// Open a file; a writer creates what is missing.
    pub fn open(opening: Opening) -> Result<Self, StoreError> {
        let open = OpenFile::open(&opening)?;
        let identity = FileIdentity::of(open.env()?, &opening.path)?;
        let (open, pins) = (Mutex::new(Some(open)), Arc::default());
        Ok(Self { opening, identity, open, changing: Mutex::new(false), changed: Condvar::new(), pins })
    }

    /// A snapshot of what is committed now, by any process.
    pub fn read(&self) -> Result<Transaction, StoreError> {
        self.with_open(|open| {
            self.require_open(open, false)?;
            // Another process's change counts as well: the file's map has the number of the last one.
            if let Some(version) = open.newest()? {
                return Ok(Transaction::reading(version));
            }
            let txn = self.begin_reading(open)?;
            Ok(Transaction::reading(open.share(txn)))
        })
    }

    /// A snapshot that is not shared.
    pub fn read_alone(&self) -> Result<PinnedTxn, StoreError> {
        self.pins.wait_until_free();
        self.patiently(|| {
            self.with_open(|open| {
                let txn = self.begin_reading(open)?;
                Ok(PinnedTxn { txn, _pin: Pin::new(&self.pins, open.env()?) })
            })
        })
    }

    /// A version to be read later, by one thread at a time, which pins the map meanwhile; none once it was lost.
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
                // A map that cannot grow yet may later, when it has to.
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

    /// What the last change has made the file's version, whatever process has made it.
    pub fn version(&self) -> Result<usize, StoreError> {
        self.with_open(|open| Ok(open.env()?.info().last_txn_id))
    }

    /// How many versions of the file this process reads: each has one of the folder's read transactions, and keeps
    /// its pages from being used again.
    pub fn versions(&self) -> usize {
        self.locked().as_ref().map_or(0, OpenFile::versions)
    }

    /// How often a read has met a damaged row since the file was opened.
    pub fn damaged(&self) -> u64 {
        self.locked().as_ref().map_or(0, |open| open.handles().damage().count())
    }

    /// Return if no read has met a damaged row since the file was opened.
    pub fn require_undamaged(&self) -> Result<(), StoreError> {
        self.with_open(|open| match open.handles().damage().first() {
            Some(row) => Err(row.clone().into()),
            None => Ok(()),
        })
    }

    /// Return if the file is where it was opened, and is open again after a failed write, or may soon be.
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

    /// The turn to change something, once no other thread of this process has it.
    pub fn turn(&self) -> WriteGuard<'_> {
        let changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let free = self.changed.wait_while(changing, |changing| *changing);
        *free.unwrap_or_else(PoisonError::into_inner) = true;
        WriteGuard(self)
    }

    /// Begin the one change; this waits for another process's to end.
    pub fn begin(&self, turn: &WriteGuard<'_>) -> Result<Transaction, StoreError> {
        let (env, handles) = self.ready_to_change(turn, self.opening.durability)?;
        Transaction::writing(env, handles)
    }

    /// End a change and keep it.
    pub fn commit(&self, change: &Transaction, turn: &WriteGuard<'_>) -> Result<(), StoreError> {
        change.commit().inspect_err(|_| self.look_at_failure(turn))
    }

    /// Run `write` in a change and keep it; a full map is enlarged, and `write` run again.
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
                Some(size) => self.patiently(|| match self.grow(size, &turn)? {
                    true => Ok(()),
                    false => Err(StoreError::MapBusy),
                })?,
                None => return Err(self.explained(failure).into()),
            }
        }
    }

    /// What `write` returned once it is committed, or what the store failed with.
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
                // A map that cannot grow yet may later, when it has to.
                let _ = open.try_resize(size);
            }
            file::forget_killed_readers(open.env()?)?;
            open.see_version()?;
            let mode = |is_set| if is_set { FlagSetMode::Enable } else { FlagSetMode::Disable };
            // SAFETY: the turn keeps a second thread from setting flags, and readers do not heed these.
            unsafe {
                open.env()?.set_flags(EnvFlags::NO_SYNC, mode(durability == Durability::NoSync))?;
                open.env()?.set_flags(EnvFlags::NO_META_SYNC, mode(durability == Durability::NoMetaSync))?;
            }
            Ok((open.env()?.clone(), open.handles().clone()))
        })
    }

    /// Open the file again if LMDB has given it up after a commit that failed.
    fn look_at_failure(&self, _turn: &WriteGuard<'_>) {
        let _ = self.with_open(|open| {
            open.note_failure();
            // What cannot be done yet is tried at each use from now on.
            self.require_open(open, true)
        });
    }

    /// Open the file again if it has to be.
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

    /// Wake the processes that watch the folder, since something has been committed.
    ///
    /// A process that is not woken finds it nevertheless, only later.
    pub fn ring(&self) {
        let _ = file::open_regular(&self.path().join(DOORBELL), OpenOptions::new().append(true).create(true));
    }

    fn early_size(&self, open: &OpenFile) -> Result<Option<usize>, StoreError> {
        Ok(file::early_size(open.env()?).filter(|_| self.opening.grows))
    }

    /// Return the size in bytes that the map needs for a change that `error` has cut short, if that was the reason.
    pub fn wanted_size(&self, error: &StoreError) -> Result<Option<usize>, StoreError> {
        match error {
            StoreError::Lmdb(error) if self.opening.grows => self.with_open(|open| match open.env() {
                Ok(env) => Ok(file::wanted_size(env, error)),
                Err(_) => Ok(None),
            }),
            _ => Ok(None),
        }
    }

    /// Enlarge the map between two changes; return false if something reads in it at this moment.
    pub fn grow(&self, size: usize, _turn: &WriteGuard<'_>) -> Result<bool, StoreError> {
        self.with_open(|open| Ok(!self.pins.are_held() && open.try_resize(size)?))
    }

    /// Enlarge the map outside of changes; return false if there is one, or something reads in it at this moment.
    fn try_grow(&self, open: &mut OpenFile, size: usize) -> Result<bool, StoreError> {
        let changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(!*changing && !self.pins.are_held() && open.try_resize(size)?)
    }

    /// What `attempt` returns, tried again while something reads in the map that must not.
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
            // A thread that reads may need another snapshot to go on, so none is held back at first.
            if waited > IDLE_PATIENCE && held.is_none() {
                held = Some(self.pins.hold_back());
            }
            sleep(Duration::from_millis(1));
        }
    }

    /// Have the map stay where it is, even if the file is closed.
    pub fn pin(&self) -> Result<Pin, StoreError> {
        self.with_open(|open| Ok(Pin::new(&self.pins, open.env()?)))
    }

    /// The same for a version that was kept; it waits while no thread may begin to read.
    pub fn pin_kept(&self) -> Result<Pin, StoreError> {
        self.pins.wait_until_free();
        self.patiently(|| {
            self.with_open(|open| {
                self.require_open(open, false)?;
                Ok(Pin::new(&self.pins, open.env()?))
            })
        })
    }

    /// Write what is committed at some moment of the call to `target`, as a file without free pages.
    pub fn copy(&self, target: &mut File) -> Result<(), StoreError> {
        // The copy reads in the map, as a view does.
        let pin = self.pin()?;
        Ok(pin.env().copy_to_file(target, CompactionOption::Enabled)?)
    }

    /// How far the file can grow before its map has to, in bytes.
    pub fn map_size(&self) -> Result<usize, StoreError> {
        self.with_open(|open| Ok(open.env()?.info().map_size))
    }

    /// How large the file is, in bytes.
    #[cfg(test)]
    pub fn file_size(&self) -> Result<u64, StoreError> {
        self.with_open(|open| Ok(open.env()?.real_disk_size()?))
    }

    /// Bring all committed changes to the disk.
    pub fn sync(&self) -> Result<(), StoreError> {
        let env = self.with_open(|open| Ok(open.env()?.clone()))?;
        env.force_sync().map_err(|error| self.explained(error.into()))
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
