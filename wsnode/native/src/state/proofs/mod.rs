//! What the tries of a committed state tell: proofs, witnesses, and roots after changes that are only tried.

pub(super) mod proof;
pub(super) mod trial;
pub(super) mod witness;
