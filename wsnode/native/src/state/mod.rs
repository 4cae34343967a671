//! The state store: accounts, storage, code and their history in LMDB.
//!
//! One history table a kind: rows hold versions of a value under the block of the oldest, so the value
//! after block n is in the row with the greatest key not above n. Trie nodes are those of the head. One
//! process writes, others read what it committed.

mod bounds;
mod caches;
mod changes;
mod delta;
mod environment;
mod error;
mod history;
mod layout;
mod modified;
mod overlay;
mod proofs;
mod proved;
mod reader;
mod store;
mod view;
mod writing;

#[cfg(test)]
mod tests;

pub use bounds::Bounds;
pub use error::{Miss, StateError};
pub use layout::account::Account;
pub use layout::tables::{Head, Tables, NAMES};
pub use modified::ChangedKeys;
pub use proofs::inspection::Watcher;
pub use proofs::proof::{AccountProof, SlotProof};
pub use proofs::trial::{ChangedAccount, TrialTries};
pub use proofs::witness::StateRead;
pub use proved::misses::collecting_misses;
pub use proved::{Backing, BlockStates, BlockStep, ForkBase, Proved};
pub use reader::StateReader;
pub use store::StateStore;
pub use view::{HistoryView, StateAfter, Uncommitted};
pub use writing::latest::LatestView;
pub use writing::patch::AccountPatch;
pub use writing::staged::Staged;
