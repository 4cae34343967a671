//! Cryptography of precompiled contracts in steps, with a check for cancellation after each. With the gas of
//! a call, one contract could compute for many seconds after its caller has disconnected.
//!
//! Only a call with a yield point computes in steps. Blocks and short computations use the functions of revm.

mod blake2;
mod long_numbers;
mod modexp;
mod pairing;

use revm::precompile::bls12_381::{G1Point, G1PointScalar, G2Point, G2PointScalar};
use revm::precompile::{install_crypto, Crypto, DefaultCrypto, PrecompileHalt};

use super::interrupt::{is_interruptible, should_continue};

/// Number of pairs from which on a pairing is computed in steps. A pair takes 0.3 ms.
const MANY_PAIRS: usize = 128;
/// Points in one step of a multi-scalar multiplication, 60 us each.
const POINTS: usize = 512;

/// Cryptography that ends early after a cancellation, with a meaningless result.
#[derive(Debug)]
pub struct InterruptibleCrypto;

/// Install the interruptible cryptography for all precompiled contracts. Call this before the first contract
/// runs.
pub fn install() {
    // The result is ignored: an earlier call of this function has installed the same cryptography.
    install_crypto(InterruptibleCrypto);
}

impl Crypto for InterruptibleCrypto {
    fn blake2_compress(&self, rounds: u32, h: &mut [u64; 8], m: &[u64; 16], t: &[u64; 2], f: bool) {
        if rounds > blake2::ROUNDS && is_interruptible() {
            blake2::compress(rounds, h, m, t, f);
        } else {
            DefaultCrypto.blake2_compress(rounds, h, m, t, f);
        }
    }

    fn modexp(&self, base: &[u8], exp: &[u8], modulus: &[u8]) -> Result<Vec<u8>, PrecompileHalt> {
        if is_interruptible() && modexp::is_long(base, exp, modulus) {
            return modexp::power(base, exp, modulus);
        }
        DefaultCrypto.modexp(base, exp, modulus)
    }

    fn bn254_pairing_check(&self, pairs: &[(&[u8], &[u8])]) -> Result<bool, PrecompileHalt> {
        if pairs.len() < MANY_PAIRS || !is_interruptible() {
            return DefaultCrypto.bn254_pairing_check(pairs);
        }
        pairing::bn254(pairs)
    }

    fn bls12_381_pairing_check(&self, pairs: &[(G1Point, G2Point)]) -> Result<bool, PrecompileHalt> {
        if pairs.len() < MANY_PAIRS || !is_interruptible() {
            return DefaultCrypto.bls12_381_pairing_check(pairs);
        }
        pairing::bls12_381(pairs)
    }

    fn bls12_381_g1_msm(
        &self,
        pairs: &mut dyn Iterator<Item = Result<G1PointScalar, PrecompileHalt>>,
    ) -> Result<[u8; 96], PrecompileHalt> {
        if !is_interruptible() {
            return DefaultCrypto.bls12_381_g1_msm(pairs);
        }
        in_steps(
            pairs,
            |step| DefaultCrypto.bls12_381_g1_msm(step),
            |sum, more| {
                let point = |bytes: [u8; 96]| -> G1Point {
                    let [x, y] = parts(&bytes);
                    (x, y)
                };
                DefaultCrypto.bls12_381_g1_add(point(sum), point(more))
            },
        )
    }

    fn bls12_381_g2_msm(
        &self,
        pairs: &mut dyn Iterator<Item = Result<G2PointScalar, PrecompileHalt>>,
    ) -> Result<[u8; 192], PrecompileHalt> {
        if !is_interruptible() {
            return DefaultCrypto.bls12_381_g2_msm(pairs);
        }
        in_steps(
            pairs,
            |step| DefaultCrypto.bls12_381_g2_msm(step),
            |sum, more| {
                let point = |bytes: [u8; 192]| -> G2Point {
                    let [x0, x1, y0, y1] = parts(&bytes);
                    (x0, x1, y0, y1)
                };
                DefaultCrypto.bls12_381_g2_add(point(sum), point(more))
            },
        )
    }
}

/// Pairs in one step of a sum.
type Pairs<'s, T> = &'s mut dyn Iterator<Item = Result<T, PrecompileHalt>>;

/// Return the sum of the products of all pairs, computed from `POINTS` pairs at a time. `sum` computes one
/// step, and `add` adds two of its results.
fn in_steps<T, const SIZE: usize>(
    pairs: Pairs<'_, T>,
    sum: impl Fn(Pairs<'_, T>) -> Result<[u8; SIZE], PrecompileHalt>,
    add: impl Fn([u8; SIZE], [u8; SIZE]) -> Result<[u8; SIZE], PrecompileHalt>,
) -> Result<[u8; SIZE], PrecompileHalt> {
    let mut pairs = pairs.peekable();
    let mut total = sum(&mut pairs.by_ref().take(POINTS))?;
    while pairs.peek().is_some() && should_continue() {
        total = add(total, sum(&mut pairs.by_ref().take(POINTS))?)?;
    }
    Ok(total)
}

/// Return the coordinates of a point, 48 bytes each.
fn parts<const COUNT: usize>(bytes: &[u8]) -> [[u8; 48]; COUNT] {
    let mut parts = [[0; 48]; COUNT];
    for (part, chunk) in parts.iter_mut().zip(bytes.chunks_exact(48)) {
        part.copy_from_slice(chunk);
    }
    parts
}

#[cfg(test)]
mod tests;
