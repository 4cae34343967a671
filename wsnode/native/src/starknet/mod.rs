//! Commitments of Starknet: field elements, tries of height 251 and their proofs, class hashes, and verified blocks.
//!
//! Blocks and proofs are JSON; all other inputs are field elements of 32 bytes, big-endian, packed without a gap.

pub mod block;
pub mod class_hash;
pub mod commitment;
pub mod felts;
pub mod json;
pub mod proof;
pub mod state;
pub mod trie;
