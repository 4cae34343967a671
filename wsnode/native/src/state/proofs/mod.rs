//! Uses of a committed state's tries: proofs, witnesses, inspection, and roots after changes that are only
//! tried.

pub(super) mod inspection;
pub(super) mod past;
pub(super) mod proof;
pub(super) mod trial;
pub(super) mod witness;
