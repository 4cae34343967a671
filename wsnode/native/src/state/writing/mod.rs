//! Writes to the store: blocks committed and unwound, and the head patched in place.

pub(super) mod batch;
pub(super) mod commit;
pub(super) mod latest;
pub(super) mod patch;
pub(super) mod patches;
pub(super) mod prune;
pub(super) mod unwind;
