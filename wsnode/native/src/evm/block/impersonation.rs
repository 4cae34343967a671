//! Placeholder signature of an unsigned transaction.
//!
//! Its `r` is the sender's address below a number such that no point of the curve has `r` as its abscissa;
//! its `s` is 1. Both are in the range of signatures, so that clients can read the transaction. With `r`, the
//! hashes of two senders' equal transactions differ. No key signs with such an `r`. Every reader that
//! recovers senders refuses it, the importer and the pool included. Only code that expects impersonation
//! accepts it.

use alloy_consensus::crypto::secp256k1::recover_signer_unchecked;
use alloy_primitives::{Address, Signature, B256, U256};

const S: U256 = U256::ONE;
const ADDRESS_BITS: usize = 160;

/// Return the placeholder that names `sender`.
pub fn impersonation(sender: Address) -> Signature {
    let mut number = U256::ONE;
    loop {
        let r = (number << ADDRESS_BITS) | U256::from_be_slice(sender.as_slice());
        let placeholder = Signature::new(r, S, false);
        // `r` must not be the abscissa of a point. About every second number is one, so the loop ends soon.
        if recover_signer_unchecked(&placeholder, B256::ZERO).is_err() {
            return placeholder;
        }
        number += U256::ONE;
    }
}

/// Return the sender in a placeholder, or None for a signature.
pub fn impersonated_sender(signature: &Signature) -> Option<Address> {
    let named = Address::from_word(signature.r().into());
    if signature.s().is_zero() {
        return (*signature == former(named)).then_some(named);
    }
    // `impersonation` takes longer, so it is called only for a signature in the form of a placeholder.
    let is_alike =
        signature.s() == S && !signature.v() && (signature.r() >> ADDRESS_BITS) <= U256::from(u8::MAX);
    (is_alike && *signature == impersonation(named)).then_some(named)
}

/// Return the placeholder for `sender` in the form of earlier versions of this node.
fn former(sender: Address) -> Signature {
    Signature::new(U256::from_be_slice(sender.as_slice()), U256::ZERO, false)
}

#[cfg(test)]
mod tests {
    use alloy_consensus::crypto::SECP256K1N_HALF;

    use super::*;

    const ADDRESSES: [Address; 4] =
        [Address::ZERO, Address::with_last_byte(1), Address::repeat_byte(7), Address::repeat_byte(0xff)];

    #[test]
    fn a_placeholder_is_in_the_range_of_signatures_and_names_every_address() {
        for address in ADDRESSES {
            let placeholder = impersonation(address);
            assert!(!placeholder.r().is_zero() && placeholder.r() < SECP256K1N_HALF);
            assert!(!placeholder.s().is_zero() && placeholder.s() <= SECP256K1N_HALF);
            assert_eq!(impersonated_sender(&placeholder), Some(address));
            assert_eq!(impersonated_sender(&former(address)), Some(address));
        }
    }

    #[test]
    fn no_message_has_a_placeholder_as_its_signature() {
        for (address, byte) in ADDRESSES.into_iter().zip(0..) {
            assert!(recover_signer_unchecked(&impersonation(address), B256::repeat_byte(byte)).is_err());
        }
    }

    #[test]
    fn a_signature_that_looks_alike_names_nobody() {
        for address in ADDRESSES {
            let placeholder = impersonation(address);
            let (r, s, v) = (placeholder.r(), placeholder.s(), placeholder.v());
            let next = U256::ONE << ADDRESS_BITS;
            let others = [
                Signature::new(r + next, s, v),
                Signature::new(r & (next - U256::ONE), s, v),
                Signature::new(r, s + U256::ONE, v),
                Signature::new(r, s, !v),
                Signature::new(r, U256::ZERO, v),
            ];
            assert!(others.iter().all(|other| impersonated_sender(other).is_none()), "{address}");
        }
    }
}
