//! Results of `starknet_getStorageProof`: verified against the state root of a block, and made of a whole state.
//!
//! Nodes are named by their hashes, so their order does not matter and neither does which contract a list of them is
//! said to belong to. Source: starknet-specs `starknet_api_openrpc.json`, MERKLE_NODE; docs.starknet.io, "Starknet state".

mod codec;
mod error;
mod nodes;
mod rendering;
mod verification;

pub use error::StorageProofError;
pub use rendering::render;
pub use verification::{verify, ContractQuestion, ProofQuestion, ProvedContract, ProvedState, StateOfBlock};

#[cfg(test)]
mod tests;
