//! The engine of wsnode: blocks verified and executed, their state and rows in LMDB, JSON and WebSocket frames
//! written from them, and Starknet's commitments.
//!
//! Plain Rust modules know nothing of Python; `bindings` is the thin layer on top of them.
#![deny(clippy::undocumented_unsafe_blocks)]

pub mod beacon;
pub mod chain;
pub mod engine;
pub mod error;
pub mod evm;
pub mod json;
pub mod pool;
pub mod scoreboard;
pub mod starknet;
pub mod state;
pub mod store;
pub mod trie;
pub mod wire;

mod bindings;
#[cfg(test)]
mod engine_tests;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
#[cfg(test)]
mod hostile_tests;
