//! Values of parameters in their usual form.

use alloy_primitives::{hex, Address, B256, U256};

/// Length of an address as text in bytes. `HASH` is a hash's.
pub const ADDRESS: usize = 42;
pub const HASH: usize = 66;

/// Return a block number, or Some(None) for "latest".
pub fn block(text: &[u8]) -> Option<Option<u64>> {
    if text == b"latest" {
        return Some(None);
    }
    let number = u64::try_from(quantity(text)?).ok()?;
    (number < 1 << 63).then_some(Some(number))
}

/// Return the digits after the prefix `0x`.
pub fn digits(text: &[u8]) -> Option<&[u8]> {
    // The decoder of the digits would skip a second prefix.
    text.strip_prefix(b"0x").filter(|digits| !digits.starts_with(b"0x"))
}

/// Return the address written in 40 hex digits.
pub fn address(text: &[u8]) -> Option<Address> {
    let mut address = Address::ZERO;
    hex::decode_to_slice(digits(text)?, address.as_mut_slice()).ok()?;
    Some(address)
}

/// Return the hash written in 64 hex digits.
pub fn hash(text: &[u8]) -> Option<B256> {
    let mut hash = B256::ZERO;
    hex::decode_to_slice(digits(text)?, hash.as_mut_slice()).ok()?;
    Some(hash)
}

/// Return the number written as `0x` and at most 64 hexadecimal digits without leading zeros, None for any
/// other text.
pub fn quantity(text: &[u8]) -> Option<U256> {
    let digits = digits(text)?;
    (digits.len() == 1 || !digits.starts_with(b"0")).then(|| number(digits))?
}

/// Return a number of at most 256 bits, written with or without leading zeros.
pub fn slot(text: &[u8]) -> Option<U256> {
    number(digits(text)?)
}

fn number(digits: &[u8]) -> Option<U256> {
    if digits.is_empty() || digits.len() > 64 {
        return None;
    }
    let mut padded = [b'0'; 64];
    padded[64 - digits.len()..].copy_from_slice(digits);
    let mut bytes = [0; 32];
    hex::decode_to_slice(padded, &mut bytes).ok()?;
    Some(U256::from_be_bytes(bytes))
}
