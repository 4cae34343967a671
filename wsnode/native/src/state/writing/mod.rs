//! Changes of the state, staged to be written in a transaction of the chain: blocks added and unwound, the
//! head patched in place, old states pruned.

pub(super) mod batch;
pub(super) mod commit;
pub(super) mod latest;
pub(super) mod patch;
pub(super) mod patches;
pub(super) mod prune;
pub(super) mod staged;
pub(super) mod unwind;
