//! Layout of the state in its tables: their keys, and the versions of a value.

pub(super) mod account;
pub(super) mod keys;
pub(super) mod tables;
pub(super) mod versions;
