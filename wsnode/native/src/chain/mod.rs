//! Blocks of a chain in the store: their rows, and the locations of transactions and logs.

pub mod append;
pub mod lookup;
pub mod rows;
pub mod tables;
mod tail;
