//! Named tables of bytes in one LMDB file: snapshots to read from, and one change at a time.
//!
//! Each row has a checksum: reading a damaged row is an error.

mod damage;
mod environment;
mod error;
pub mod file;
mod file_identity;
pub mod free_pages;
pub mod inspection;
mod integrity;
mod meta_page;
mod open_file;
mod pins;
mod row;
pub mod space;
mod table;
mod transaction;
mod truncation;

pub use damage::DamagedRow;
pub use environment::{Environment, PinnedTxn, WriteGuard};
pub use error::StoreError;
pub use file_identity::FileIdentity;
pub use integrity::{FileError, IntegrityError};
pub use open_file::{Durability, Opening};
pub use pins::Pin;
pub use table::{KeyValue, ReadTxn, Table, WriteTxn};
pub use transaction::{Seek, SharedReadTxn, TransactionHandle};
pub use truncation::{require_not_empty, require_untruncated};

/// Name of LMDB's data file in a folder.
const FILE: &str = "data.mdb";
const LOCK_FILE: &str = "lock.mdb";
