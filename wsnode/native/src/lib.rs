//! The engine of wsnode: blocks verified and executed, their state and rows in LMDB, JSON and WebSocket frames
//! written from them, and Starknet's commitments.
//!
//! Plain Rust modules know nothing of Python; `bindings` is the thin layer on top of them.
#![deny(clippy::undocumented_unsafe_blocks)]

mod beacon;
mod chain;
mod engine;
mod error;
mod evm;
mod json;
mod pool;
mod scoreboard;
mod starknet;
mod state;
mod store;
mod trie;
mod wire;

mod bindings;
#[cfg(test)]
mod engine_tests;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
#[cfg(test)]
mod hostile_tests;

// For `examples/limits.rs`. All else is private, so that the compiler finds unused code.
pub use evm::chain_spec::ChainSpec;
pub use evm::environment::evm_environment;
