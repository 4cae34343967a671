//! States known by proofs alone: accounts, slots and code of a block, each fetched and verified against its
//! state root, and the trie nodes of their proofs.

mod block_states;
mod carried;
mod fork_base;
pub(super) mod misses;
mod proof;
mod store;

pub use block_states::BlockStates;
pub use carried::BlockStep;
pub use fork_base::ForkBase;
pub(super) use fork_base::ProvedView;
pub use proof::Proved;

/// Source of the values that a chain's own tables do not have.
#[derive(Debug, Default)]
pub enum Backing {
    #[default]
    None,
    /// State after the first block, if this is another chain's.
    ForkBase(ForkBase),
    /// State after each block of a chain that this node does not execute.
    PerBlock(BlockStates),
}
