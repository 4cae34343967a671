//! Blocks as nodes answer them, recomputed: transaction hashes, commitments and the block hash.
//!
//! From Starknet 0.13.2 on a block hash commits to transactions, events, receipts, the state diff and the state root, so
//! that no state is needed to prove a block complete. Transactions' contents are covered by their own hashes alone.

mod codec;
mod commitments;
mod error;
mod hash;
mod transaction_hash;
mod verification;
mod version;

pub use error::BlockError;
pub use verification::{verify, BlockProof, Derived};
