//! A state of which only what was proved is known: accounts, slots and code of one block, each fetched and verified
//! against its state root, and the trie nodes that prove them.

mod base;
pub(super) mod lacking;
mod proof;
mod store;

pub use base::Base;
pub(super) use base::BaseView;
pub use proof::Proved;
