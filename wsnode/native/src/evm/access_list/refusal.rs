//! How a message is refused: geth names the unsigned transaction that it would be.

use std::convert::Infallible;

use alloy_primitives::keccak256;

use crate::error::Error;
use crate::evm::call::unsigned::UnsignedTerms;
use crate::evm::call::Message;

/// A refusal of `message` in the words of geth's access lists.
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
