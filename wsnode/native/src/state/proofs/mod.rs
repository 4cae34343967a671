//! What the tries of a committed state tell: proofs, witnesses, whether it is whole, and roots after changes that are only tried.

pub(super) mod inspection;
pub(super) mod past;
pub(super) mod proof;
pub(super) mod trial;
pub(super) mod witness;
