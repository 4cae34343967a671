//! Products of pairings (EIP-197, EIP-2537), computed for some pairs at a time.

use ark_ec::models::short_weierstrass::{Affine, SWCurveConfig};
use ark_ec::pairing::{MillerLoopOutput, Pairing};
use ark_ec::AffineRepr;
use ark_ff::{BigInt, One, PrimeField, Zero};
use revm::precompile::bls12_381::{G1Point, G2Point};
use revm::precompile::{Crypto, DefaultCrypto, PrecompileHalt};

use super::should_continue;

/// Pairs in one step, a few milliseconds.
const PAIRS: usize = 16;

/// Return whether the product of pairings on the curve alt_bn128 is one.
pub fn bn254(pairs: &[(&[u8], &[u8])]) -> Result<bool, PrecompileHalt> {
    let points = |&(first, second): &(&[u8], &[u8])| {
        let [x, y] = fields(first)?;
        // The imaginary part comes first in the encoding (EIP-197).
        let [x1, x0, y1, y0] = fields(second)?;
        let second = point::<ark_bn254::g2::Config>(ark_bn254::Fq2::new(x0, x1), ark_bn254::Fq2::new(y0, y1));
        Some((point::<ark_bn254::g1::Config>(x, y)?, second?))
    };
    product::<ark_bn254::Bn254, _>(pairs, points, |some| DefaultCrypto.bn254_pairing_check(some))
}

/// Return whether the product of pairings on the curve BLS12-381 is one.
pub fn bls12_381(pairs: &[(G1Point, G2Point)]) -> Result<bool, PrecompileHalt> {
    let points = |((x, y), (x0, x1, y0, y1)): &(G1Point, G2Point)| {
        let fields = |one, other| Some(ark_bls12_381::Fq2::new(field(one)?, field(other)?));
        let second = point::<ark_bls12_381::g2::Config>(fields(x0, x1)?, fields(y0, y1)?);
        Some((point::<ark_bls12_381::g1::Config>(field(x)?, field(y)?)?, second?))
    };
    product::<ark_bls12_381::Bls12_381, _>(pairs, points, |some| DefaultCrypto.bls12_381_pairing_check(some))
}

/// Return whether the product of the pairings of all pairs is one.
///
/// `points` reads a pair. `check` returns the error for a pair that cannot be read.
fn product<E: Pairing, P>(
    pairs: &[P],
    points: impl Fn(&P) -> Option<(E::G1Affine, E::G2Affine)>,
    check: impl Fn(&[P]) -> Result<bool, PrecompileHalt>,
) -> Result<bool, PrecompileHalt> {
    let mut product = E::TargetField::one();
    for some in pairs.chunks(PAIRS) {
        if !should_continue() {
            return Ok(false);
        }
        let (mut first, mut second) = (Vec::with_capacity(PAIRS), Vec::with_capacity(PAIRS));
        for (index, pair) in some.iter().enumerate() {
            let Some((one, other)) = points(pair) else {
                // `check` returns the error of the pair that `points` refused. If revm accepts the pair, revm
                // computes the whole product.
                return check(&some[index..=index]).and_then(|_| check(pairs));
            };
            // The pairing with the point at infinity is one.
            if !one.is_zero() && !other.is_zero() {
                first.push(one);
                second.push(other);
            }
        }
        product *= E::multi_miller_loop(first, second).0;
    }
    Ok(E::final_exponentiation(MillerLoopOutput(product)).is_some_and(|result| result.0.is_one()))
}

/// Return the point with these coordinates, the point at infinity if both are zero. None if it is not in the
/// group.
fn point<C: SWCurveConfig>(x: C::BaseField, y: C::BaseField) -> Option<Affine<C>> {
    if x.is_zero() && y.is_zero() {
        return Some(Affine::zero());
    }
    let point = Affine::<C>::new_unchecked(x, y);
    (point.is_on_curve() && point.is_in_correct_subgroup_assuming_on_curve()).then_some(point)
}

/// Return numbers of 32 bytes each below the field's modulus, or None if one is not.
fn fields<const COUNT: usize>(bytes: &[u8]) -> Option<[ark_bn254::Fq; COUNT]> {
    let mut numbers = [ark_bn254::Fq::zero(); COUNT];
    for (number, bytes) in numbers.iter_mut().zip(bytes.chunks_exact(32)) {
        *number = field(bytes)?;
    }
    Some(numbers)
}

/// Return a big-endian number below the field's modulus, or None.
fn field<F: PrimeField<BigInt = BigInt<LIMBS>>, const LIMBS: usize>(bytes: &[u8]) -> Option<F> {
    let mut limbs = [0; LIMBS];
    for (limb, bytes) in limbs.iter_mut().zip(bytes.rchunks_exact(8)) {
        *limb = u64::from_be_bytes(bytes.try_into().ok()?);
    }
    F::from_bigint(BigInt::new(limbs))
}
