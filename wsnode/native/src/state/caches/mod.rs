//! What is kept in memory because it costs to make: analysed code, and hashes of keys.

pub(super) mod code;
pub(super) mod hashes;
