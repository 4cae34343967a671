//! The ways in which a store fails.

use super::whole::{CutShort, Doubt};

/// Why a store cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{0}")]
    Lmdb(#[from] heed::Error),
    #[error("{path}: {reason}")]
    Unusable { path: String, reason: heed::Error },
    #[error("{0}: {1}")]
    Folder(String, std::io::Error),
    #[error("{0}")]
    CutShort(#[from] CutShort),
    #[error("{0}: no space is left on the disk")]
    NoSpace(String),
    #[error("{0}: there is no such store yet")]
    NoTables(String),
    #[error("the snapshot ended when the file was closed or its map grew")]
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

impl From<Doubt> for StoreError {
    fn from(doubt: Doubt) -> Self {
        match doubt {
            Doubt::CutShort(cut) => cut.into(),
            Doubt::Lmdb(error) => error.into(),
        }
    }
}
