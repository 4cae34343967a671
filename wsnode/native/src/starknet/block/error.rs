//! Errors for refused blocks, with the member at fault and the expected and actual values.

use starknet_types_core::felt::Felt;

/// Longest quotation of received text in a message, in characters.
const MAX_QUOTED: usize = 120;

/// Error of a member of a block or of its state update: malformed, or inconsistent with the rest of the block.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    #[error("{member}: {reason}")]
    Malformed { member: String, reason: String },
    #[error("{member}: expected {expected}, got {actual}")]
    Mismatch { member: String, expected: String, actual: String },
}

impl BlockError {
    /// Return the refusal of a malformed member; path and reason may quote the text and are cut to 120 characters.
    pub fn malformed(member: impl ToString, reason: impl ToString) -> Self {
        Self::Malformed { member: cut(&member.to_string()), reason: cut(&reason.to_string()) }
    }

    /// Return the path of the member, as in `transactions[3].receipt.transaction_hash`.
    pub fn member(&self) -> &str {
        match self {
            Self::Malformed { member, .. } | Self::Mismatch { member, .. } => member,
        }
    }
}

/// Refuse a member whose felt differs from the expected one.
pub fn check_felt(member: impl FnOnce() -> String, expected: Felt, actual: Felt) -> Result<(), BlockError> {
    check(member, expected == actual, || (format!("{expected:#x}"), format!("{actual:#x}")))
}

/// Refuse a member whose number differs from the expected one.
pub fn check_number(member: &str, expected: u64, actual: u64) -> Result<(), BlockError> {
    check(|| member.to_owned(), expected == actual, || (expected.to_string(), actual.to_string()))
}

/// Refuse a member whose text differs from the expected one.
pub fn check_word(member: impl FnOnce() -> String, expected: &str, actual: &str) -> Result<(), BlockError> {
    check(member, expected == actual, || (cut(expected), cut(actual)))
}

fn check(
    member: impl FnOnce() -> String,
    is_equal: bool,
    values: impl FnOnce() -> (String, String),
) -> Result<(), BlockError> {
    if is_equal {
        return Ok(());
    }
    let (expected, actual) = values();
    Err(BlockError::Mismatch { member: member(), expected, actual })
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_QUOTED).collect()
}
