//! States of which only what was proved is known: accounts, slots and code of a block, each fetched and verified
//! against its state root, and the trie nodes that prove them.

mod base;
pub(super) mod lacking;
mod moments;
mod proof;
mod store;

pub use base::Base;
pub(super) use base::BaseView;
pub use moments::Moments;
pub use proof::Proved;

/// Where values come from that a chain has none of.
#[derive(Debug, Default)]
pub enum Below {
    #[default]
    Nowhere,
    /// The state after the first block, which is another chain's.
    First(Base),
    /// The state after each block: nothing is executed here.
    Each(Moments),
}
