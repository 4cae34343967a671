//! What Starknet's commitments need: field elements, tries of height 251, class hashes, and blocks recomputed.
//!
//! All but blocks takes field elements as 32 bytes big-endian, packed one after the other.

pub mod block;
pub mod class_hash;
pub mod commitment;
pub mod felts;
pub mod state;
pub mod trie;
