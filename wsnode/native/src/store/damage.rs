//! The damaged rows that were found in a file.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;

/// A row that does not have its checksum, is missing where it must be, or to which a damaged page leads.
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
    /// Empty where a walk met a damaged page.
    pub key: Vec<u8>,
}

/// What was found of an open file: how often a damaged row was met, and the first.
#[derive(Debug)]
pub struct DamageLog {
    path: PathBuf,
    tables: Vec<String>,
    count: AtomicU64,
    first: OnceLock<DamagedRow>,
}

impl DamageLog {
    /// A log of the file in the folder `path` that has the tables of these names.
    pub fn new(path: &Path, tables: &[String]) -> Self {
        let (count, first) = (AtomicU64::new(0), OnceLock::new());
        Self { path: path.to_owned(), tables: tables.to_vec(), count, first }
    }

    /// The names of the file's tables.
    pub fn tables(&self) -> &[String] {
        &self.tables
    }

    /// Take note of a damaged row of the table at an index.
    pub fn note(&self, table: usize, key: &[u8]) -> DamagedRow {
        let row =
            DamagedRow { path: self.path.clone(), table: self.tables[table].clone(), key: key.to_vec() };
        self.count.fetch_add(1, Ordering::Relaxed);
        let _ = self.first.set(row.clone());
        row
    }

    /// How often a read has met a damaged row.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The damaged row that was met first.
    pub fn first(&self) -> Option<&DamagedRow> {
        self.first.get()
    }
}
