//! What Starknet's commitments need: field elements, tries of height 251, class hashes.
//!
//! Everything takes field elements as 32 bytes big-endian, packed one after the other.

pub mod class_hash;
pub mod commitment;
pub mod felts;
pub mod state;
pub mod trie;
