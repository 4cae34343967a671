//! Use of a closed file's pages, and the versions of it that processes read.

use std::ffi::{c_int, CString};
use std::path::Path;
use std::ptr::null_mut;

use lmdb_master_sys as lmdb;

use super::free_pages::{done, failure, LmdbTransaction, RawEnvironment, FREE};
use super::{meta_page, StoreError, FILE};

/// LMDB's table with the names of the other tables.
const MAIN: lmdb::MDB_dbi = 1;
/// Maximum number of tables opened during one inspection.
const MAX_TABLES: u32 = 256;

/// Sizes of a file's last version, in pages of `page_size` bytes.
#[derive(Debug)]
pub struct Inspection {
    pub page_size: u64,
    /// Number of pages up to the last one used.
    pub pages: u64,
    /// Number of pages for the next changes to use before the file grows, including pages that readers of
    /// older versions still need.
    pub free: u64,
    pub version: u64,
    pub trees: Vec<TreeSize>,
    /// Process and version of each open snapshot.
    pub readers: Vec<(u32, u64)>,
}

/// A table, or one of LMDB's own two trees: `(free)` lists free pages, `(tables)` names the tables.
#[derive(Debug)]
pub struct TreeSize {
    pub name: String,
    pub entries: u64,
    pub pages: u64,
}

/// Return the sizes of the file in the folder `path`, which this process does not have open.
///
/// A node may write it meanwhile: the sizes are those of one version.
pub fn inspect(path: &Path) -> Result<Inspection, StoreError> {
    let unusable = |reason| StoreError::Unusable { path: path.display().to_string(), reason };
    let length =
        std::fs::metadata(path.join(FILE)).map_err(|reason| unusable(heed::Error::Io(reason)))?.len();
    let path = path.canonicalize().map_err(|reason| unusable(heed::Error::Io(reason)))?;
    meta_page::require_sound(&path)?;
    // A file that this process has open is not opened again: closing one of two handles would release the
    // locks of both (fcntl(2)).
    if heed::env_closing_event(&path).is_some() {
        return Err(unusable(heed::Error::EnvAlreadyOpened));
    }
    // A writer may enlarge the file meanwhile, so the map is twice as large.
    let map_size = usize::try_from(length).unwrap_or(usize::MAX / 2).saturating_mul(2);
    inspected(&path, map_size).map_err(|code| unusable(failure(code)))
}

fn inspected(path: &Path, map_size: usize) -> Result<Inspection, c_int> {
    let store = RawEnvironment::open(path, lmdb::MDB_RDONLY, map_size, MAX_TABLES)?;
    let reading = store.begin(lmdb::MDB_RDONLY)?;
    let own = std::process::id();
    let mut readers = store.readers()?;
    readers.retain(|(process, _)| *process != own);
    let mut trees = Vec::new();
    for name in reading.keys(MAIN)? {
        let Ok(text) = CString::new(name) else { continue };
        let size = reading.size(reading.open(&text)?)?;
        trees.push(TreeSize { name: text.to_string_lossy().into_owned(), ..size });
    }
    trees.push(TreeSize { name: "(tables)".into(), ..reading.size(MAIN)? });
    trees.push(TreeSize { name: "(free)".into(), ..reading.size(FREE)? });
    let free = reading.free_pages(u64::MAX)?.len() as u64;
    let (page_size, pages, version) = (store.page_size()?, store.pages()?, reading.version());
    Ok(Inspection { page_size, pages, free, version, trees, readers })
}

impl LmdbTransaction<'_> {
    fn version(&self) -> u64 {
        // SAFETY: the transaction is open.
        unsafe { lmdb::mdb_txn_id(self.txn) as u64 }
    }

    fn open(&self, name: &CString) -> Result<lmdb::MDB_dbi, c_int> {
        let mut table = 0;
        // SAFETY: the name ends with a zero byte, and `table` is a valid place for the handle.
        done(unsafe { lmdb::mdb_dbi_open(self.txn, name.as_ptr(), 0, &mut table) })?;
        Ok(table)
    }

    /// Return the entries and pages of a table, with an empty name.
    fn size(&self, table: lmdb::MDB_dbi) -> Result<TreeSize, c_int> {
        // SAFETY: all members are numbers, for which zero is valid.
        let mut found = unsafe { std::mem::zeroed::<lmdb::MDB_stat>() };
        // SAFETY: the table is one of the transaction's.
        done(unsafe { lmdb::mdb_stat(self.txn, table, &mut found) })?;
        let pages = found.ms_branch_pages + found.ms_leaf_pages + found.ms_overflow_pages;
        Ok(TreeSize { name: String::new(), entries: found.ms_entries as u64, pages: pages as u64 })
    }

    fn keys(&self, table: lmdb::MDB_dbi) -> Result<Vec<Vec<u8>>, c_int> {
        let mut cursor = null_mut();
        // SAFETY: the table is one of the transaction's.
        done(unsafe { lmdb::mdb_cursor_open(self.txn, table, &mut cursor) })?;
        let mut keys = Vec::new();
        let end = loop {
            let mut key = lmdb::MDB_val { mv_size: 0, mv_data: null_mut() };
            let mut row = lmdb::MDB_val { mv_size: 0, mv_data: null_mut() };
            // SAFETY: the cursor is open.
            let code = unsafe { lmdb::mdb_cursor_get(cursor, &mut key, &mut row, lmdb::MDB_NEXT) };
            if code != 0 {
                break code;
            }
            // SAFETY: the key that was found lies in the map while the transaction lasts.
            keys.push(unsafe { std::slice::from_raw_parts(key.mv_data.cast::<u8>(), key.mv_size) }.to_vec());
        };
        // SAFETY: the cursor is open, and its transaction has not ended.
        unsafe { lmdb::mdb_cursor_close(cursor) };
        match end {
            0 | lmdb::MDB_NOTFOUND => Ok(keys),
            code => Err(code),
        }
    }
}
