//! The placeholder signature of an unsigned transaction.
//!
//! Its `r` is the sender's address and its `s` is 0, which no signature of the curve ever has: every reader that
//! recovers senders, the importer and the pool among them, refuses it. Only code that expects impersonation
//! accepts it.

use alloy_primitives::{Address, Signature, U256};

/// The placeholder that names `sender`.
pub fn impersonation(sender: Address) -> Signature {
    Signature::new(U256::from_be_slice(sender.as_slice()), U256::ZERO, false)
}

/// The sender in a placeholder, or None for a signature.
pub fn impersonated_sender(signature: &Signature) -> Option<Address> {
    let named = Address::from_word(signature.r().into());
    (*signature == impersonation(named)).then_some(named)
}
