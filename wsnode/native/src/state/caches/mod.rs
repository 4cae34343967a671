//! Caches in memory of results that are costly to compute: analysed code, and hashes of keys.

pub(super) mod code;
pub(super) mod hashes;
