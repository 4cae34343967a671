//! Powers of large numbers (EIP-198), computed for a part of the exponent at a time.

use num_bigint::BigUint;
use revm::precompile::{Crypto, DefaultCrypto, PrecompileHalt};

use super::long_numbers::power_of_long;
use super::should_continue;

/// Products of words in one step, a few milliseconds.
const STEP: u64 = 1 << 22;
/// Words from which on each product is computed in steps. Below it, four squares take one step.
const MANY_WORDS: usize = 1024;

/// Return whether the power takes more than a few steps.
pub fn is_long(base: &[u8], exponent: &[u8], modulus: &[u8]) -> bool {
    words(base, modulus) > MANY_WORDS || bytes_of_a_step(base, modulus) * 4 < exponent.len()
}

/// Return `base` to the power of `exponent`, modulo `modulus`, in big-endian bytes.
pub fn power(base: &[u8], exponent: &[u8], modulus: &[u8]) -> Result<Vec<u8>, PrecompileHalt> {
    if words(base, modulus) > MANY_WORDS {
        return Ok(power_of_long(base, exponent, modulus));
    }
    let divisor = BigUint::from_bytes_be(modulus);
    if divisor.bits() == 0 {
        return DefaultCrypto.modexp(base, exponent, modulus);
    }
    let base = DefaultCrypto.modexp(base, &[1], modulus)?;
    let (head, rest) = exponent.split_at(exponent.len().min(bytes_of_a_step(&base, modulus)));
    let mut power = DefaultCrypto.modexp(&base, head, modulus)?;
    for digits in rest.chunks(head.len().max(1)) {
        if !should_continue() {
            break;
        }
        // `shift` is 256 to the power of the number of digits.
        let mut shift = vec![0; digits.len() + 1];
        shift[0] = 1;
        let shifted = BigUint::from_bytes_be(&DefaultCrypto.modexp(&power, &shift, modulus)?);
        let more = BigUint::from_bytes_be(&DefaultCrypto.modexp(&base, digits, modulus)?);
        power = (shifted * more % &divisor).to_bytes_be();
    }
    Ok(power)
}

/// Return the length of the longer number, in 64-bit words.
fn words(base: &[u8], modulus: &[u8]) -> usize {
    base.len().max(modulus.len()).div_ceil(8).max(1)
}

/// Return the bytes of the exponent in one step: each byte takes eight squares.
fn bytes_of_a_step(base: &[u8], modulus: &[u8]) -> usize {
    let words = words(base, modulus) as u64;
    (STEP / (8 * words * words)).clamp(1, 4096) as usize
}
