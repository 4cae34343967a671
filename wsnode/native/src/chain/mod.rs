//! A chain's blocks as the store keeps them: their rows, and where a transaction or a log lies.

pub mod ends;
pub mod lookup;
mod lower_end;
pub mod rows;
pub mod tables;
