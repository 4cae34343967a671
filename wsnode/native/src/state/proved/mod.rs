//! States of which only what was proved is known: accounts, slots and code of a block, each fetched and verified
//! against its state root, and the trie nodes that prove them.

mod block_states;
mod carried;
mod fork_base;
pub(super) mod misses;
mod proof;
mod store;

pub use block_states::BlockStates;
pub use carried::Step;
pub use fork_base::ForkBase;
pub(super) use fork_base::ProvedView;
pub use proof::Proved;

/// Where values come from that a chain has none of.
#[derive(Debug, Default)]
pub enum Backing {
    #[default]
    None,
    /// The state after the first block, which is another chain's.
    ForkBase(ForkBase),
    /// The state after each block: nothing is executed here.
    PerBlock(BlockStates),
}
