//! A chain's blocks as the store keeps them: their rows, and where a transaction or a log lies.

pub mod append;
pub mod lookup;
pub mod rows;
pub mod tables;
mod tail;
