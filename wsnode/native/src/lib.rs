//! The engine of wsnode: blocks verified and executed, their state and rows in LMDB, JSON and WebSocket frames
//! written from them, and Starknet's commitments.
//!
//! Plain Rust modules know nothing of Python; `bindings` is the thin layer on top of them.
#![deny(clippy::undocumented_unsafe_blocks)]

pub mod chain;
pub mod engine;
pub mod error;
pub mod evm;
pub mod json;
pub mod ledger;
pub mod pool;
pub mod starknet;
pub mod state;
pub mod store;
pub mod trie;
pub mod wire;

// Names of the C library, which glibc alone lets others have.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod heap;

mod bindings;
#[cfg(test)]
mod engine_tests;
#[cfg(test)]
mod hostile_tests;
