//! Errors of a store.

use super::damage::DamagedRow;
use super::file_identity::MovedFile;
use super::integrity::{DamagedFile, FileError, IntegrityError, Truncated};

/// Reason for which a store cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{0}")]
    Lmdb(#[from] heed::Error),
    #[error("{path}: {reason}")]
    Unusable { path: String, reason: heed::Error },
    #[error("{0}")]
    File(#[from] FileError),
    #[error("{0}")]
    Truncated(#[from] Truncated),
    #[error("{0}")]
    Damaged(#[from] DamagedFile),
    #[error("{0}")]
    DamagedRow(#[from] DamagedRow),
    #[error("{0}")]
    Moved(#[from] MovedFile),
    #[error("{0}: a write of its first pages failed, and it cannot be used until it is opened again")]
    Failed(String),
    #[error("the file is being opened again after a failed write")]
    Reopening,
    #[error("{0}: no space is left on the disk")]
    NoSpace(String),
    #[error("{0}: there is no such store yet")]
    NoTables(String),
    #[error("the map cannot grow while values in it are read")]
    MapBusy,
    #[error("the snapshot ended when the file was closed")]
    Lost,
    #[error("the transaction has ended")]
    Ended,
    #[error("the store is closed")]
    Closed,
    #[error("a change belongs to the thread that makes it")]
    AnotherThread,
    #[error("only a change can write")]
    ReadOnly,
    #[error("{table}: key {} is not beyond the last one", hexadecimal(.key))]
    NotBeyond { table: &'static str, key: Vec<u8> },
    #[error("the processes of this folder read too many versions of the store")]
    TooManySnapshots,
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl From<IntegrityError> for StoreError {
    fn from(error: IntegrityError) -> Self {
        match error {
            IntegrityError::File(error) => error.into(),
            IntegrityError::Truncated(cut) => cut.into(),
            IntegrityError::Damaged(damage) => damage.into(),
            IntegrityError::Lmdb(error) => error.into(),
        }
    }
}
