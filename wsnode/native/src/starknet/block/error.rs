//! Why a block is not taken: the member that is wrong, and both values.

use starknet_types_core::felt::Felt;

/// Longest text of others in a message, in characters.
const MOST_QUOTED: usize = 120;

/// A member of a block or of its state update that is malformed or not what the rest of the block demands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    #[error("{member}: {reason}")]
    Malformed { member: String, reason: String },
    #[error("{member}: expected {expected}, got {actual}")]
    Mismatch { member: String, expected: String, actual: String },
}

impl BlockError {
    /// Refuse what has not the form of its kind; the reason may quote the text itself, so it is cut.
    pub fn malformed(member: impl ToString, reason: impl ToString) -> Self {
        Self::Malformed { member: cut(&member.to_string()), reason: cut(&reason.to_string()) }
    }

    /// The path of the member, as in `transactions[3].receipt.transaction_hash`.
    pub fn member(&self) -> &str {
        match self {
            Self::Malformed { member, .. } | Self::Mismatch { member, .. } => member,
        }
    }
}

/// Refuse unless the block tells the felt that it must.
pub fn check_felt(member: impl FnOnce() -> String, expected: Felt, actual: Felt) -> Result<(), BlockError> {
    check(member, expected == actual, || (format!("{expected:#x}"), format!("{actual:#x}")))
}

/// Refuse unless the block tells the number that it must.
pub fn check_number(member: &str, expected: u64, actual: u64) -> Result<(), BlockError> {
    check(|| member.to_owned(), expected == actual, || (expected.to_string(), actual.to_string()))
}

/// Refuse unless the block tells the word that it must.
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
    text.chars().take(MOST_QUOTED).collect()
}
