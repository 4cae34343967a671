//! The engine: what must be exact and fast inside the EVM.
//!
//! Plain Rust modules know nothing of Python; `bindings` is the thin layer on top of them.
#![deny(clippy::undocumented_unsafe_blocks)]

pub mod access_list;
pub mod block;
pub mod build;
pub mod call;
pub mod chain_spec;
pub mod consensus;
pub mod engine;
pub mod error;
pub mod execute;
pub mod json;
pub mod lookup;
pub mod plain;
pub mod pool;
pub mod reads;
pub mod rows;
pub mod sign;
pub mod simulate;
pub mod starknet;
pub mod state;
pub mod store;
pub mod trace;
pub mod trie;
pub mod wire;
pub mod witness;

mod bindings;
#[cfg(test)]
mod engine_tests;
#[cfg(test)]
mod hostile_tests;
