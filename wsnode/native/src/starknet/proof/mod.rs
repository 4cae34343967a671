//! Results of `starknet_getStorageProof`: verified against the state root of a block, or rendered from a whole state.
//!
//! Nodes of a trie are found by their hashes, so a proof may have them in any order, and may list the storage proofs
//! of contracts in any order. Source: starknet-specs `starknet_api_openrpc.json`, MERKLE_NODE; docs.starknet.io,
//! "Starknet state".

mod codec;
mod error;
mod nodes;
mod verification;

pub use codec::render;
pub use error::StorageProofError;
pub use verification::{verify, ContractQuestion, ProofQuestion, ProvedContract, ProvedState, StateOfBlock};

#[cfg(test)]
mod tests;
