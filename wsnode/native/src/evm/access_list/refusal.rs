//! Refusals of messages for access lists: geth names the hash of the unsigned transaction.

use std::convert::Infallible;

use alloy_primitives::keccak256;

use crate::error::Error;
use crate::evm::call::unsigned::UnsignedTerms;
use crate::evm::call::Message;

/// Return `error` in the words of geth's access lists if it refuses `message`; other errors are returned
/// unchanged.
pub fn named(error: Error, message: &Message, terms: UnsignedTerms) -> Error {
    match error {
        Error::InvalidTransaction { kind, message: words } if kind != "overrides" => {
            let Ok(envelope) = terms.envelope(message, |fee| Ok::<_, Infallible>(fee.saturating_to()));
            let text = format!("failed to apply transaction: {} err: {words}", keccak256(envelope));
            Error::InvalidTransaction { kind, message: text }
        }
        other => other,
    }
}
