//! Named tables of bytes in one LMDB file: moments to read from, and one change at a time.

mod environment;
mod error;
pub mod file;
pub mod free_pages;
pub mod space;
mod transaction;
mod whole;

pub use environment::{Environment, Pin, Turn};
pub use error::StoreError;
pub use transaction::{Entry, Transaction, Way};
pub use whole::{require_begun, require_whole, CutShort, Doubt};

use heed::types::Bytes;

/// The name that LMDB gives its file in a folder.
const FILE: &str = "data.mdb";

/// A table's handle, good for the environment that it was opened in.
pub type Table = heed::Database<'static, Bytes, Bytes>;
