//! Reasons for which a file cannot be opened, or is not known to be whole.

use std::path::{Path, PathBuf};

/// File whose meta pages are not those of an LMDB file of this version.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: the file is damaged: meta page {page} has {fault}; put a whole copy in its place", file.display())]
pub struct DamagedFile {
    pub file: PathBuf,
    pub page: u64,
    pub fault: String,
}

/// File shorter than the pages that it uses.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}: the file is cut short: it has {size} bytes and uses {wanted}; put a whole copy in its place",
    file.display()
)]
pub struct Truncated {
    pub file: PathBuf,
    pub size: u64,
    pub wanted: u64,
}

/// File or folder that cannot be created, opened or read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct FileError {
    pub path: PathBuf,
    pub reason: std::io::Error,
}

impl FileError {
    pub fn new(path: &Path, reason: std::io::Error) -> Self {
        Self { path: path.to_owned(), reason }
    }
}

/// Reason for which a file cannot be opened, or is not known to be whole.
#[derive(Debug)]
pub enum IntegrityError {
    File(FileError),
    Truncated(Truncated),
    Damaged(DamagedFile),
    Lmdb(heed::Error),
}

impl From<FileError> for IntegrityError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl From<heed::Error> for IntegrityError {
    fn from(error: heed::Error) -> Self {
        Self::Lmdb(error)
    }
}
