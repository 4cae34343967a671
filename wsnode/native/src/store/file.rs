//! LMDB file: opening it, beginning to read, and the size of its map.
//!
//! A map may grow while snapshots are open, as long as no thread reads in one: a read transaction of LMDB
//! holds numbers of pages and no addresses; only cursors and values hold these. Decision 0069 gives the
//! reasons for maps that grow.

use heed::{Env, EnvFlags, EnvOpenOptions, MdbError, WithoutTls};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::row::fault;
use super::{meta_page, FileError, IntegrityError, FILE, LOCK_FILE};

/// Bytes of addresses for a small file's map, which grows with the file: a process has 2^47 for all its
/// stores.
pub const FIRST_MAP_SIZE: usize = 16 << 30;
/// Least bytes of a first map, to which it is reduced if a process may not have `FIRST_MAP_SIZE`.
const MIN_MAP_SIZE: usize = 64 << 20;
/// Bytes of which a map's size is a multiple: itself a multiple of every system's page size.
const MAP_UNIT: usize = 64 << 10;

/// Maximum number of read transactions of all processes of a folder together, 64 bytes each in the lock file.
const MAX_READERS: u32 = 16_384;

/// Create a folder and its parents if they are missing.
pub fn make_folder(path: &Path) -> Result<(), FileError> {
    std::fs::create_dir_all(path).map_err(|reason| FileError::new(path, reason))
}

/// Open a regular file.
///
/// A pipe in its place is refused, since opening one waits for its other end.
pub fn open_regular(path: &Path, options: &mut OpenOptions) -> Result<File, FileError> {
    let opened = options.custom_flags(libc::O_NONBLOCK).open(path);
    opened
        .and_then(|file| regular(&file.metadata()?).map(|()| file))
        .map_err(|reason| FileError::new(path, reason))
}

fn regular(found: &Metadata) -> io::Result<()> {
    match found.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file")),
    }
}

/// Open the file in the existing folder `path`, with a map of `map_size` bytes, or more if the file needs it.
pub fn open(
    path: &Path,
    tables: u32,
    flags: EnvFlags,
    map_size: usize,
) -> Result<Env<WithoutTls>, IntegrityError> {
    require_regular(path)?;
    meta_page::require_sound(path)?;
    fault::catch();
    let length = std::fs::metadata(path.join(FILE)).map_or(0, |found| found.len());
    let least = roomy(usize::try_from(length).unwrap_or(usize::MAX / 2));
    let opened = open_reduced(path, tables, flags, map_size.max(least), least.max(MIN_MAP_SIZE));
    if opened.is_err() && length == 0 && !flags.contains(EnvFlags::READ_ONLY) {
        forget_unmade(path);
    }
    opened
}

/// Remove a new file without its first pages, which could not be opened again.
fn forget_unmade(path: &Path) {
    let file = path.join(FILE);
    if std::fs::metadata(&file).is_ok_and(|found| found.len() < meta_page::MIN_SIZE) {
        // A file that cannot be removed is reported as cut short at the next opening.
        let _ = std::fs::remove_file(file);
    }
}

fn open_reduced(
    path: &Path,
    tables: u32,
    flags: EnvFlags,
    map_size: usize,
    least: usize,
) -> Result<Env<WithoutTls>, IntegrityError> {
    match open_sized(path, tables, flags, map_size) {
        Err(heed::Error::Io(reason)) if reason.kind() == ErrorKind::OutOfMemory && map_size > least => {
            open_reduced(path, tables, flags, (map_size / 4).max(least), least)
        }
        Err(heed::Error::Io(reason)) => Err(of_file(path, flags, reason).into()),
        opened => Ok(opened?),
    }
}

/// Check that the data file and lock file in the folder `path` are regular files, or do not exist yet.
fn require_regular(path: &Path) -> Result<(), FileError> {
    for file in [LOCK_FILE, FILE].map(|name| path.join(name)) {
        if let Ok(found) = std::fs::metadata(&file) {
            regular(&found).map_err(|reason| FileError::new(&file, reason))?;
        }
    }
    Ok(())
}

/// Return the error of the file that LMDB could not open, with its path; LMDB names only the reason.
fn of_file(path: &Path, flags: EnvFlags, reason: io::Error) -> FileError {
    let is_written = !flags.contains(EnvFlags::READ_ONLY);
    // A reader works without a lock file that it cannot create, so its data file is tried first.
    let names = if is_written { [LOCK_FILE, FILE] } else { [FILE, LOCK_FILE] };
    let is_closed = |file: &PathBuf| OpenOptions::new().read(true).write(is_written).open(file).is_err();
    let closed = names.map(|name| path.join(name)).into_iter().find(is_closed);
    FileError::new(&closed.unwrap_or_else(|| path.join(FILE)), reason)
}

fn open_sized(path: &Path, tables: u32, flags: EnvFlags, map_size: usize) -> heed::Result<Env<WithoutTls>> {
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options.max_dbs(tables).max_readers(MAX_READERS).map_size(map_size);
    // SAFETY: the flags give up none of LMDB's guarantees except the one against power failures, and only if
    // the caller asks for it.
    unsafe { options.flags(flags) };
    // SAFETY: only LMDB changes the files of the folder, with its locks on.
    let env = unsafe { options.open(path)? };
    env.clear_stale_readers()?;
    Ok(env)
}

/// Call `begin`, which begins a read transaction; if no reader slot is free, clear the slots of killed
/// processes and call it again.
pub fn reading<T>(env: &Env<WithoutTls>, begin: impl Fn() -> heed::Result<T>) -> heed::Result<T> {
    match begin() {
        Err(heed::Error::Mdb(MdbError::ReadersFull)) => {
            env.clear_stale_readers()?;
            begin()
        }
        begun => begun,
    }
}

/// Free the versions read by killed processes, so that a change begun now may reuse their pages.
///
/// LMDB itself never does. It takes a system call for each other process that reads.
pub fn forget_killed_readers(env: &Env<WithoutTls>) -> heed::Result<()> {
    env.clear_stale_readers().map(drop)
}

/// Return the size in bytes that the map needs if `error` is caused by a map too small for a transaction,
/// else None.
pub fn wanted_size(env: &Env<WithoutTls>, error: &heed::Error) -> Option<usize> {
    let is_short = matches!(error, heed::Error::Mdb(MdbError::MapFull | MdbError::MapResized));
    is_short.then(|| larger(env))
}

/// Return the size in bytes of a larger map if the file fills three quarters of the present one, else None;
/// the map may be enlarged while nothing reads in it.
pub fn early_size(env: &Env<WithoutTls>) -> Option<usize> {
    (used(env) / 3 > env.info().map_size / 4).then(|| larger(env))
}

/// Enlarge the map to `size` bytes; an error leaves it as it was.
///
/// # Safety
/// No thread of this process changes the file or reads in its map, and none begins to until this returns.
pub unsafe fn resize(env: &Env<WithoutTls>, size: usize) -> heed::Result<()> {
    // LMDB unmaps the old map before it asks for the new one, so a failure there would leave no map.
    require_addresses(size)?;
    // SAFETY: the caller guarantees that no thread uses the map. LMDB forbids open transactions here, but
    // they hold no addresses (module comment).
    unsafe { env.resize(size) }
}

/// Return the size in bytes of a larger map, at least as large as the file needs.
pub fn larger(env: &Env<WithoutTls>) -> usize {
    env.info().map_size.saturating_mul(2).max(roomy(used(env)))
}

/// Return the bytes up to the last page that the last version uses.
fn used(env: &Env<WithoutTls>) -> usize {
    let page_size = env.unnamed_database_stat().page_size as usize;
    env.info().last_page_number.saturating_add(1).saturating_mul(page_size)
}

fn roomy(used: usize) -> usize {
    used.saturating_mul(2).next_multiple_of(MAP_UNIT)
}

/// Check that this process may have `size` more bytes of addresses.
fn require_addresses(size: usize) -> heed::Result<()> {
    // SAFETY: the call creates a mapping of its own, which no other code knows.
    let found = unsafe {
        libc::mmap(std::ptr::null_mut(), size, libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANON, -1, 0)
    };
    if found == libc::MAP_FAILED {
        return Err(heed::Error::Io(io::Error::last_os_error()));
    }
    // SAFETY: the mapping was created above, and no code uses it.
    unsafe { libc::munmap(found, size) };
    Ok(())
}
