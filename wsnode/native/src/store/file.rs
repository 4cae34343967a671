//! One LMDB file: how it is opened, how reading begins, and when its map has become too small.
//!
//! What differs between the chain's file and the state's is only how long a snapshot lives: the chain's belong to
//! Python and end with the map that they read, the state's end within a call, and a larger map waits for them.

use heed::{Env, EnvFlags, EnvOpenOptions, MdbError, WithoutTls};
use std::io::ErrorKind;
use std::path::Path;

/// The address space of a map: more than any chain has bytes, so that no process has to enlarge it while others read.
pub const MAP_SIZE: usize = 8 << 40;
/// Where a process may not have as much, a map is made smaller down to this, and enlarged when it is full.
const LEAST_MAP_SIZE: usize = 1 << 36;

/// Read transactions of all processes of a folder together, 64 bytes each in the lock file.
const MAX_READERS: u32 = 16_384;

/// Open the file in the folder `path`, which is there.
pub fn open(path: &Path, tables: u32, flags: EnvFlags, map_size: usize) -> heed::Result<Env<WithoutTls>> {
    match open_sized(path, tables, flags, map_size) {
        Err(heed::Error::Io(reason))
            if reason.kind() == ErrorKind::OutOfMemory && map_size > LEAST_MAP_SIZE =>
        {
            open(path, tables, flags, map_size / 8)
        }
        opened => opened,
    }
}

fn open_sized(path: &Path, tables: u32, flags: EnvFlags, map_size: usize) -> heed::Result<Env<WithoutTls>> {
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options.max_dbs(tables).max_readers(MAX_READERS).map_size(map_size);
    // SAFETY: of LMDB's guarantees the only one that is ever given up is that against power failures, where it was
    // asked for.
    unsafe { options.flags(flags) };
    // SAFETY: the files of the folder are changed through LMDB only, with its locks on.
    let env = unsafe { options.open(path)? };
    env.clear_stale_readers()?;
    Ok(env)
}

/// What `begin` returns; slots of killed processes, which count until they are cleared, do not keep it from beginning.
pub fn reading<T>(env: &Env<WithoutTls>, begin: impl Fn() -> heed::Result<T>) -> heed::Result<T> {
    match begin() {
        Err(heed::Error::Mdb(MdbError::ReadersFull)) => {
            env.clear_stale_readers()?;
            begin()
        }
        begun => begun,
    }
}

/// Free what killed processes were reading, so that a change which begins now may use those pages again.
///
/// LMDB itself never does. It takes a system call for each other process that reads.
pub fn forget_killed_readers(env: &Env<WithoutTls>) -> heed::Result<()> {
    env.clear_stale_readers().map(drop)
}

/// The size that the map needs for a transaction that `error` has cut short, if that was the reason; 0 stands for what
/// another process has made of it.
pub fn wanted_size(env: &Env<WithoutTls>, error: &heed::Error) -> Option<usize> {
    match error {
        heed::Error::Mdb(MdbError::MapFull) => Some(2 * env.info().map_size),
        heed::Error::Mdb(MdbError::MapResized) => Some(0),
        _ => None,
    }
}
