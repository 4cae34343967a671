//! What Starknet's commitments need: field elements, tries of height 251 and their proofs, class hashes, and blocks
//! recomputed.
//!
//! All but blocks and proofs takes field elements as 32 bytes big-endian, packed one after the other.

pub mod block;
pub mod class_hash;
pub mod commitment;
pub mod felts;
pub mod json;
pub mod proof;
pub mod state;
pub mod trie;
