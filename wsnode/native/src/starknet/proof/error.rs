//! Errors for refused storage proofs.

use starknet_types_core::felt::Felt;

/// Longest quotation of received text in a message, in characters.
const MAX_QUOTED: usize = 120;

/// Error of a proof, or of the keys to be proved (`TooManyKeys`, `KeyOutOfRange`).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StorageProofError {
    #[error("{member}: {reason}")]
    Malformed { member: String, reason: String },
    #[error("{asked} keys are more than {most}")]
    TooManyKeys { asked: usize, most: usize },
    #[error("the key {key:#x} is not below 2^251")]
    KeyOutOfRange { key: Felt },
    #[error("{bytes} bytes are more than {most}")]
    TooManyBytes { bytes: usize, most: usize },
    #[error("{member}: {actual} items, more than the {most} that the keys have")]
    TooManyItems { member: &'static str, actual: usize, most: usize },
    #[error("{member}: expected {expected:#x}, got {actual:#x}")]
    OtherValue { member: String, expected: Felt, actual: Felt },
    #[error("{member}: the node {hash:#x} is missing")]
    MissingNode { member: String, hash: Felt },
    #[error("{member}: the node {hash:#x} is an edge of {length} bits at a height of {height}")]
    WrongEdge { member: String, hash: Felt, length: u64, height: usize },
    #[error("{member}: nodes of {roots} tries")]
    SeveralRoots { member: String, roots: usize },
    #[error("{member}: no storage root gives the leaf {leaf:#x} of the contract {address:#x}")]
    UnknownStorageRoot { member: String, leaf: Felt, address: Felt },
}

impl StorageProofError {
    /// Return the refusal of a malformed member; path and reason may quote the text and are cut to 120 characters.
    pub fn malformed(member: impl ToString, reason: impl ToString) -> Self {
        Self::Malformed { member: cut(&member.to_string()), reason: cut(&reason.to_string()) }
    }

    /// Return the stable name of the broken rule, such as `missing_node`.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::Malformed { .. } => "malformed",
            Self::TooManyKeys { .. } => "too_many_keys",
            Self::KeyOutOfRange { .. } => "key_out_of_range",
            Self::TooManyBytes { .. } => "too_many_bytes",
            Self::TooManyItems { .. } => "too_many_items",
            Self::OtherValue { .. } => "other_value",
            Self::MissingNode { .. } => "missing_node",
            Self::WrongEdge { .. } => "wrong_edge",
            Self::SeveralRoots { .. } => "several_roots",
            Self::UnknownStorageRoot { .. } => "unknown_storage_root",
        }
    }
}

/// Refuse a member whose value differs from the expected one.
pub fn check_value(
    member: impl FnOnce() -> String,
    expected: Felt,
    actual: Felt,
) -> Result<(), StorageProofError> {
    if expected == actual {
        return Ok(());
    }
    Err(StorageProofError::OtherValue { member: member(), expected, actual })
}

/// Refuse a list of more than `most` items.
pub fn check_count(member: &'static str, actual: usize, most: usize) -> Result<(), StorageProofError> {
    if actual <= most {
        return Ok(());
    }
    Err(StorageProofError::TooManyItems { member, actual, most })
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_QUOTED).collect()
}
