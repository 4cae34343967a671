//! The state store: accounts, storage, code and their history in LMDB.
//!
//! One history table a kind: rows hold versions of a value under the block of the oldest, so the value
//! after block n is in the row with the greatest key not above n. Trie nodes are those of the head. One
//! process writes, others read what it committed.

mod account;
mod batch;
mod bounds;
mod changes;
mod code;
mod commit;
mod delta;
mod environment;
mod error;
mod hashes;
mod history;
mod keys;
mod modified;
mod overlay;
mod patch;
mod patches;
mod proof;
mod reader;
mod store;
mod tables;
mod trial;
mod unwind;
mod versions;
mod view;
mod witness;

#[cfg(test)]
mod tests;

pub use account::Account;
pub use bounds::Bounds;
pub use commit::GenesisAccount;
pub use error::StateError;
pub use patch::AccountPatch;
pub use proof::{AccountProof, SlotProof};
pub use reader::StateReader;
pub use store::StateStore;
pub use tables::Head;
pub use trial::{ChangedAccount, TrialTries};
pub use view::{HistoryView, LatestView, StateAfter};
pub use witness::{ProvingNodes, StateRead};
