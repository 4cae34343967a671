//! Return of a closed file's free pages to the file system.
//!
//! A commit writes changed pages beside their originals, which later commits may reuse, and LMDB never makes
//! a file smaller. Without this, the pages freed at the end of a large import would take space for good. A
//! hole in the file takes none, and a commit that writes there fills it. LMDB reads no free page. A smaller
//! copy in the file's place would be written twice, and a process with the old file open would never see it.

use lmdb_master_sys as lmdb;
use std::ffi::{c_char, c_int, c_uint, c_void, CStr, CString};
use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;

use super::row::fault;
use super::{meta_page, StoreError, FILE};

/// LMDB's own table of free pages: the pages freed by each transaction, by its number.
pub(super) const FREE: lmdb::MDB_dbi = 0;
const WORD: usize = size_of::<usize>();
/// Words in LMDB's list of readers in place of a version: the heading, and an idle reader's mark.
const NO_VERSION: [&str; 2] = ["txnid", "-"];

/// Return the free pages of the file in the folder `path` to the file system, except those of older versions
/// that some process reads, and return their size in bytes.
///
/// Returns 0 while this process has the file open, and where the file system has no holes. Writers wait
/// meanwhile; readers do not.
pub fn release(path: &Path) -> Result<u64, StoreError> {
    let unusable = |reason| StoreError::Unusable { path: path.display().to_string(), reason };
    if !holes::KNOWN {
        return Ok(0);
    }
    // LMDB would create a missing file.
    let found = std::fs::metadata(path.join(FILE)).and_then(|_| path.canonicalize());
    let path = found.map_err(|reason| unusable(heed::Error::Io(reason)))?;
    meta_page::require_sound(&path)?;
    // A file that this process has open is not opened again: closing one of two handles would release the
    // locks of both (fcntl(2)).
    match heed::env_closing_event(&path) {
        Some(_) => Ok(0),
        None => released(&path).map_err(|code| unusable(failure(code))),
    }
}

fn released(path: &Path) -> Result<u64, c_int> {
    // A map of 1 byte is enlarged to what the file needs. The map size stated in the file may exceed this
    // process's limit.
    let store = RawEnvironment::open(path, 0, 1, 0)?;
    // While this change is open, the version on the disk stays the last one, and no page is used or freed.
    let _turn = store.begin(0)?;
    store.sync()?;
    let reading = store.begin(lmdb::MDB_RDONLY)?;
    let pages = reading.free_pages(store.oldest_read()?)?;
    let (file, size) = (store.file()?, store.page_size()?);
    let mut bytes = 0;
    for (first, count) in runs(pages) {
        if !holes::punch(&file, first * size, count * size) {
            break;
        }
        bytes += count * size;
    }
    Ok(bytes)
}

/// Group adjacent pages: the first page of each run and the number of its pages.
fn runs(mut pages: Vec<u64>) -> Vec<(u64, u64)> {
    pages.sort_unstable();
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for page in pages {
        match runs.last_mut() {
            Some((first, count)) if *first + *count == page => *count += 1,
            _ => runs.push((page, 1)),
        }
    }
    runs
}

pub(super) fn failure(code: c_int) -> heed::Error {
    match code {
        system if system > 0 => heed::Error::Io(std::io::Error::from_raw_os_error(system)),
        own => heed::Error::Mdb(heed::MdbError::from_err_code(own)),
    }
}

pub(super) fn done(code: c_int) -> Result<(), c_int> {
    match code {
        0 => Ok(()),
        code => Err(code),
    }
}

/// Open LMDB file, closed when it is dropped.
pub(super) struct RawEnvironment(*mut lmdb::MDB_env);

impl RawEnvironment {
    /// Open the file with further `flags`, a map of `map_size` bytes, or as large as the file needs, and room
    /// for `tables` named tables.
    pub(super) fn open(path: &Path, flags: c_uint, map_size: usize, tables: u32) -> Result<Self, c_int> {
        const FLAGS: c_uint = lmdb::MDB_NOTLS | lmdb::MDB_NORDAHEAD;
        let text = CString::new(path.as_os_str().as_bytes()).map_err(|_| libc::EINVAL)?;
        fault::catch();
        let mut env = null_mut();
        // SAFETY: `env` is a valid place for the handle.
        done(unsafe { lmdb::mdb_env_create(&mut env) })?;
        let handle = Self(env);
        // SAFETY: the handle is new.
        done(unsafe { lmdb::mdb_env_set_mapsize(env, map_size) })?;
        // SAFETY: the handle is new.
        done(unsafe { lmdb::mdb_env_set_maxdbs(env, tables) })?;
        // SAFETY: the handle is new, and the path ends with a zero byte.
        done(unsafe { lmdb::mdb_env_open(env, text.as_ptr(), FLAGS | flags, 0o600) })?;
        let mut dead = 0;
        // SAFETY: the file is open.
        done(unsafe { lmdb::mdb_reader_check(env, &mut dead) })?;
        Ok(handle)
    }

    pub(super) fn begin(&self, flags: c_uint) -> Result<LmdbTransaction<'_>, c_int> {
        let mut txn = null_mut();
        // SAFETY: the file is open, and with MDB_NOTLS a thread may read beside its own change.
        done(unsafe { lmdb::mdb_txn_begin(self.0, null_mut(), flags, &mut txn) })?;
        Ok(LmdbTransaction { txn, _store: self })
    }

    fn sync(&self) -> Result<(), c_int> {
        // SAFETY: the file is open.
        done(unsafe { lmdb::mdb_env_sync(self.0, 1) })
    }

    /// Return the number of the oldest version that a process reads, `u64::MAX` if there is none.
    fn oldest_read(&self) -> Result<u64, c_int> {
        Ok(self.readers()?.into_iter().map(|(_, version)| version).min().unwrap_or(u64::MAX))
    }

    /// Return the process and the version of each open snapshot.
    pub(super) fn readers(&self) -> Result<Vec<(u32, u64)>, c_int> {
        let mut readers = Vec::<(u32, u64)>::new();
        // SAFETY: the file is open, and `collect` gets the list of readers that it expects.
        let listed =
            unsafe { lmdb::mdb_reader_list(self.0, Some(collect), (&raw mut readers).cast::<c_void>()) };
        if listed < 0 {
            return Err(libc::EIO);
        }
        Ok(readers)
    }

    /// Return the number of pages up to the last one used by the last version.
    pub(super) fn pages(&self) -> Result<u64, c_int> {
        // SAFETY: all members are numbers and an address, for which zero is valid.
        let mut found = unsafe { std::mem::zeroed::<lmdb::MDB_envinfo>() };
        // SAFETY: the file is open.
        done(unsafe { lmdb::mdb_env_info(self.0, &mut found) })?;
        Ok(found.me_last_pgno as u64 + 1)
    }

    fn file(&self) -> Result<ManuallyDrop<File>, c_int> {
        let mut descriptor = 0;
        // SAFETY: the file is open.
        done(unsafe { lmdb::mdb_env_get_fd(self.0, &mut descriptor) })?;
        // SAFETY: the descriptor is open. `ManuallyDrop` leaves its closing to LMDB, and the `File` does not
        // outlive the call of `released`.
        Ok(ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) }))
    }

    pub(super) fn page_size(&self) -> Result<u64, c_int> {
        // SAFETY: all members are numbers, for which zero is valid.
        let mut found = unsafe { std::mem::zeroed::<lmdb::MDB_stat>() };
        // SAFETY: the file is open.
        done(unsafe { lmdb::mdb_env_stat(self.0, &mut found) })?;
        Ok(u64::from(found.ms_psize))
    }
}

impl Drop for RawEnvironment {
    fn drop(&mut self) {
        // SAFETY: every transaction borrows the handle, so none is left.
        unsafe { lmdb::mdb_env_close(self.0) };
    }
}

/// Add a reader listed by LMDB in `line` to the list at `context`: its process and version.
///
/// # Safety
///
/// `context` points to the list of readers.
unsafe extern "C" fn collect(line: *const c_char, context: *mut c_void) -> c_int {
    // SAFETY: LMDB passes a text that ends with a zero byte.
    let line = unsafe { CStr::from_ptr(line) }.to_string_lossy();
    let mut words = line.split_whitespace();
    let (process, version) = (words.next().unwrap_or_default(), words.nth(1));
    if let Some(version) = version.filter(|word| !NO_VERSION.contains(word)) {
        // SAFETY: the caller guarantees that `context` points to the list of readers.
        let readers = unsafe { &mut *context.cast::<Vec<(u32, u64)>>() };
        // A version that is not a number counts as 0, so that no page is released.
        readers.push((process.parse().unwrap_or(0), version.parse().unwrap_or(0)));
    }
    0
}

/// Transaction that is aborted when it is dropped.
pub(super) struct LmdbTransaction<'s> {
    pub(super) txn: *mut lmdb::MDB_txn,
    _store: &'s RawEnvironment,
}

impl LmdbTransaction<'_> {
    /// Return the pages freed by transactions up to number `last` and not used since.
    pub(super) fn free_pages(&self, last: u64) -> Result<Vec<u64>, c_int> {
        let mut cursor = null_mut();
        // SAFETY: the transaction only reads, so a cursor in the table of free pages is allowed.
        done(unsafe { lmdb::mdb_cursor_open(self.txn, FREE, &mut cursor) })?;
        let mut pages = Vec::new();
        let end = loop {
            let mut key = lmdb::MDB_val { mv_size: 0, mv_data: null_mut() };
            let mut row = lmdb::MDB_val { mv_size: 0, mv_data: null_mut() };
            // SAFETY: the cursor is open.
            let code = unsafe { lmdb::mdb_cursor_get(cursor, &mut key, &mut row, lmdb::MDB_NEXT) };
            // SAFETY: the key that was found lies in the map while the transaction lasts.
            if code != 0 || unsafe { words(&key) }.next().is_none_or(|freed_by| freed_by > last) {
                break code;
            }
            // SAFETY: the row that was found lies in the map while the transaction lasts.
            let mut row = unsafe { words(&row) };
            let count = row.next().unwrap_or(0);
            pages.extend(row.take(usize::try_from(count).unwrap_or(0)));
        };
        // SAFETY: the cursor is open, and its transaction has not ended.
        unsafe { lmdb::mdb_cursor_close(cursor) };
        match end {
            0 | lmdb::MDB_NOTFOUND => Ok(pages),
            code => Err(code),
        }
    }
}

impl Drop for LmdbTransaction<'_> {
    fn drop(&mut self) {
        // SAFETY: the transaction has not ended, and no cursor is open.
        unsafe { lmdb::mdb_txn_abort(self.txn) };
    }
}

/// Return the machine words of a key or a row as numbers.
///
/// # Safety
///
/// `value` points to as many bytes as it says, for as long as the numbers are read.
unsafe fn words(value: &lmdb::MDB_val) -> impl Iterator<Item = u64> + '_ {
    // SAFETY: the caller guarantees that `value` points to its bytes.
    let bytes = unsafe { std::slice::from_raw_parts(value.mv_data.cast::<u8>(), value.mv_size) };
    bytes.chunks_exact(WORD).filter_map(|word| Some(usize::from_ne_bytes(word.try_into().ok()?) as u64))
}

#[cfg(target_os = "linux")]
mod holes {
    use std::fs::File;
    use std::io::{Error, ErrorKind};
    use std::os::fd::AsRawFd;

    pub const KNOWN: bool = true;

    /// Make a hole in the file and return true; return false if the file system cannot.
    pub fn punch(file: &File, start: u64, length: u64) -> bool {
        const MODE: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let (Ok(start), Ok(length)) = (i64::try_from(start), i64::try_from(length)) else {
            return false;
        };
        loop {
            // SAFETY: the file is open for writing.
            let code = unsafe { libc::fallocate64(file.as_raw_fd(), MODE, start, length) };
            if code == 0 || Error::last_os_error().kind() != ErrorKind::Interrupted {
                return code == 0;
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod holes {
    use std::fs::File;

    pub const KNOWN: bool = false;

    /// Return false: no other system has the call.
    pub fn punch(_file: &File, _start: u64, _length: u64) -> bool {
        false
    }
}
