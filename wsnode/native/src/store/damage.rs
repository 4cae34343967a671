//! Record of the damaged rows found in a file.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;

/// Row with a wrong checksum, missing where one must be, or behind a damaged page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}: the store is damaged: table {table}, row 0x{}; `wsnode doctor` lists all damaged rows; restore a snapshot, \
     or import again",
    path.display(),
    key.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
)]
pub struct DamagedRow {
    pub path: PathBuf,
    pub table: String,
    /// Key of the row; empty if a walk met a damaged page at its start.
    pub key: Vec<u8>,
}

/// Number of reads of damaged rows in an open file, and the first such row.
#[derive(Debug)]
pub struct DamageLog {
    path: PathBuf,
    tables: Vec<String>,
    count: AtomicU64,
    first: OnceLock<DamagedRow>,
}

impl DamageLog {
    /// Create the log of the file in the folder `path`, with the names of its tables.
    pub fn new(path: &Path, tables: &[String]) -> Self {
        let (count, first) = (AtomicU64::new(0), OnceLock::new());
        Self { path: path.to_owned(), tables: tables.to_vec(), count, first }
    }

    /// Return the names of the file's tables.
    pub fn tables(&self) -> &[String] {
        &self.tables
    }

    /// Record and return a damaged row of the table at index `table`.
    pub fn note(&self, table: usize, key: &[u8]) -> DamagedRow {
        let row =
            DamagedRow { path: self.path.clone(), table: self.tables[table].clone(), key: key.to_vec() };
        self.count.fetch_add(1, Ordering::Relaxed);
        let _ = self.first.set(row.clone());
        row
    }

    /// Return the number of reads of damaged rows.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    pub fn first(&self) -> Option<&DamagedRow> {
        self.first.get()
    }
}
