//! Identity of an open LMDB file, compared with the file at its path.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use heed::{Env, WithoutTls};

use super::{FileError, FILE};

/// Open file that was deleted, moved or replaced: writes to it are lost.
#[derive(Debug, thiserror::Error)]
#[error("{}: the file that is open was deleted, moved or replaced; put it back, or restart", .0.display())]
pub struct MovedFile(PathBuf);

/// Device and inode of the open file, and its path.
#[derive(Debug)]
pub struct FileIdentity {
    path: PathBuf,
    found: (u64, u64),
}

impl FileIdentity {
    pub fn of(env: &Env<WithoutTls>, path: &Path) -> Result<Self, FileError> {
        let path = path.join(FILE);
        let opened = env.try_clone_inner_file().map_err(heed_reason).and_then(|file| file.metadata());
        let found = opened.map_err(|reason| FileError::new(&path, reason))?;
        Ok(Self { found: identity_of(&found), path })
    }

    /// Check that the path still leads to the open file.
    pub fn require_in_place(&self) -> Result<(), MovedFile> {
        match std::fs::metadata(&self.path) {
            Ok(found) if identity_of(&found) == self.found => Ok(()),
            _ => Err(MovedFile(self.path.clone())),
        }
    }
}

fn identity_of(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

fn heed_reason(error: heed::Error) -> std::io::Error {
    match error {
        heed::Error::Io(reason) => reason,
        other => std::io::Error::other(other),
    }
}
