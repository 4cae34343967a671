//! Verification of blocks in JSON: transaction hashes, commitments and the block hash are recomputed.
//!
//! Since Starknet 0.13.2 a block hash commits to transactions, events, receipts, the state diff and the state root, so
//! no state is needed to prove a block complete. It commits to transactions' contents through their hashes only.

mod codec;
mod commitments;
mod error;
mod hash;
mod transaction_hash;
mod verification;
mod version;

pub use error::BlockError;
pub use verification::{verify, verify_unsealed, BlockProof, Derived};
