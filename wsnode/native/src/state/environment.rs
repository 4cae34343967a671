//! The LMDB environment: opening, read snapshots, write transactions and the growth of the map.

use super::tables::Tables;
use super::StateError;
use heed::{Env, EnvFlags, EnvOpenOptions, FlagSetMode, MdbError, RoTxn, RwTxn, WithoutTls};
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Address space reserved at first; the file grows only as it is written.
pub(super) const MAP_SIZE: usize = 64 << 30;
/// Read transactions at a time, all processes together.
const MAX_READERS: u32 = 1024;
/// How long a reader that needs a larger map waits for the other readers of its process.
const RESIZE_PATIENCE: Duration = Duration::from_secs(5);

/// An open environment and its tables.
#[derive(Debug)]
pub(super) struct Environment {
    env: Env<WithoutTls>,
    tables: Tables,
    /// Snapshots alive in this process: the map may only be resized when there are none.
    active: Mutex<usize>,
    idle: Condvar,
}

/// One read transaction: the store as of one commit.
pub(super) struct Snapshot<'e> {
    pub(super) txn: RoTxn<'e, WithoutTls>,
    pub(super) tables: &'e Tables,
    // Declared, hence dropped, after `txn`.
    _active: Active<'e>,
}

#[derive(Debug)]
struct Active<'e>(&'e Environment);

impl Drop for Active<'_> {
    fn drop(&mut self) {
        *self.0.count() -= 1;
        self.0.idle.notify_all();
    }
}

impl Environment {
    /// Open the environment in the folder `path`; a writer creates what is missing.
    pub(super) fn open(path: &Path, writer: bool, map_size: usize) -> Result<Self, StateError> {
        if writer {
            std::fs::create_dir_all(path)?;
        }
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        options
            .max_dbs(16)
            .max_readers(MAX_READERS)
            .map_size(map_size);
        if !writer {
            // SAFETY: READ_ONLY takes none of LMDB's guarantees away.
            unsafe { options.flags(EnvFlags::READ_ONLY) };
        }
        // SAFETY: the files of the folder are changed through LMDB only, with its locks on.
        let env = unsafe { options.open(path)? };
        let tables = if writer {
            env.clear_stale_readers()?;
            Tables::create(&env)?
        } else {
            Tables::open(&env)?
        };
        Ok(Self {
            env,
            tables,
            active: Mutex::new(0),
            idle: Condvar::new(),
        })
    }

    /// The store as of the last commit.
    pub(super) fn read(&self) -> Result<Snapshot<'_>, StateError> {
        let mut active = self.count();
        let txn = match self.env.read_txn() {
            Err(heed::Error::Mdb(MdbError::MapResized)) => {
                active = self.adopt_map_size(active)?;
                self.env.read_txn()?
            }
            begun => begun?,
        };
        *active += 1;
        Ok(Snapshot {
            txn,
            tables: &self.tables,
            _active: Active(self),
        })
    }

    /// Wait until no snapshot of this process is left, then take over the size that the writer's
    /// process gave the map. New snapshots fail alike meanwhile, so the count only falls.
    fn adopt_map_size<'m>(
        &self,
        active: MutexGuard<'m, usize>,
    ) -> Result<MutexGuard<'m, usize>, StateError> {
        let waited = self
            .idle
            .wait_timeout_while(active, RESIZE_PATIENCE, |count| *count > 0);
        let (active, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if *active > 0 {
            return Err(heed::Error::Mdb(MdbError::MapResized).into());
        }
        // SAFETY: there is no transaction in this process, and `active` keeps any from beginning.
        unsafe { self.env.resize(0)? };
        Ok(active)
    }

    /// Run `write` in a transaction and commit it; a full map is enlarged and `write` run again.
    ///
    /// Without `sync` the pages are left to the operating system: a killed process loses nothing, a
    /// power cut may. NO_META_SYNC would save the second of a commit's two fsyncs only.
    pub(super) fn write<T>(
        &mut self,
        sync: bool,
        write: impl Fn(&mut RwTxn<'_>, &Tables) -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        let mode = if sync {
            FlagSetMode::Disable
        } else {
            FlagSetMode::Enable
        };
        // SAFETY: `&mut self` means that no other thread uses the environment.
        unsafe { self.env.set_flags(EnvFlags::NO_SYNC, mode)? };
        loop {
            match self.attempt(&write) {
                Err(StateError::Lmdb(heed::Error::Mdb(MdbError::MapFull))) => {
                    self.resize(self.env.info().map_size * 2)?
                }
                Err(StateError::Lmdb(heed::Error::Mdb(MdbError::MapResized))) => self.resize(0)?,
                done => return done,
            }
        }
    }

    fn attempt<T>(
        &self,
        write: impl Fn(&mut RwTxn<'_>, &Tables) -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        let mut txn = self.env.write_txn()?;
        let value = write(&mut txn, &self.tables)?;
        txn.commit()?;
        Ok(value)
    }

    fn resize(&mut self, size: usize) -> Result<(), StateError> {
        // SAFETY: snapshots borrow the environment, so `&mut self` means that there are none.
        unsafe { self.env.resize(size)? };
        Ok(())
    }

    /// Bring everything committed to the disk.
    pub(super) fn sync(&self) -> Result<(), StateError> {
        Ok(self.env.force_sync()?)
    }

    #[cfg(test)]
    pub(super) fn file_size(&self) -> Result<u64, StateError> {
        Ok(self.env.real_disk_size()?)
    }

    fn count(&self) -> MutexGuard<'_, usize> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
