//! Comparison of results in steps with results of one run, and tests that steps end after a cancellation.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use ark_bls12_381 as bls;
use ark_ec::{AffineRepr, CurveGroup};
use ark_ff::{BigInteger, PrimeField};
use revm::precompile::bls12_381::{G1Point, G2Point};
use revm::precompile::{Crypto, DefaultCrypto};

use super::super::interrupt::YieldPoint;
use super::InterruptibleCrypto;

pub fn watched<T>(is_cancelled: bool, work: impl FnOnce() -> T) -> T {
    let cancel = Arc::new(AtomicBool::new(is_cancelled));
    YieldPoint::new(Some(cancel), Rc::new(RefCell::new(None))).during(work)
}

fn big_endian(number: impl PrimeField) -> Vec<u8> {
    number.into_bigint().to_bytes_be()
}

fn bytes_of<const SIZE: usize>(number: impl PrimeField) -> [u8; SIZE] {
    big_endian(number).try_into().unwrap()
}

/// Return `times` times the generators of BLS12-381, encoded by EIP-2537.
fn bls_points(times: u64) -> (G1Point, G2Point) {
    let one = (bls::G1Affine::generator() * bls::Fr::from(times)).into_affine();
    let two = (bls::G2Affine::generator() * bls::Fr::from(times)).into_affine();
    let [x0, x1, y0, y1] = [two.x.c0, two.x.c1, two.y.c0, two.y.c1].map(bytes_of::<48>);
    ((bytes_of(one.x), bytes_of(one.y)), (x0, x1, y0, y1))
}

/// Return the pairs (`times` G1, G2) and (-`times` G1, G2) on alt_bn128, encoded by EIP-197.
fn bn_pairs(times: u64) -> [(Vec<u8>, Vec<u8>); 2] {
    let one = (ark_bn254::G1Affine::generator() * ark_bn254::Fr::from(times)).into_affine();
    let two = ark_bn254::G2Affine::generator();
    let second = [two.x.c1, two.x.c0, two.y.c1, two.y.c0].map(big_endian).concat();
    [one, -one].map(|point| ([big_endian(point.x), big_endian(point.y)].concat(), second.clone()))
}

#[test]
fn compression_in_steps_has_the_same_result() {
    let message = std::array::from_fn(|index| 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(index as u64 + 1));
    let state = std::array::from_fn(|index| !message[index]);
    for rounds in [0, 1, 9, 10, 12, super::blake2::ROUNDS + 7] {
        for last in [false, true] {
            let (mut expected, mut found) = (state, state);
            DefaultCrypto.blake2_compress(rounds, &mut expected, &message, &[3, 5], last);
            super::blake2::compress(rounds, &mut found, &message, &[3, 5], last);
            assert_eq!(found, expected, "{rounds}");
        }
    }
}

#[test]
fn powers_in_steps_have_the_same_result() {
    let number = |length: usize, seed: u8| -> Vec<u8> {
        (0..length).map(|index| (index as u8).wrapping_mul(37).wrapping_add(seed)).collect()
    };
    let cases = [
        (number(40, 3), number(700, 5), number(1024, 9)),
        (number(3000, 3), number(200, 200), number(1024, 8)),
        (number(5, 3), number(400, 1), [vec![0; 1200], number(60, 7)].concat()),
        (vec![], number(700, 5), number(1024, 9)),
        (number(1100, 7), vec![0; 500], number(1024, 9)),
        (number(1100, 7), [vec![0; 300], number(9, 1)].concat(), vec![1]),
        (number(1100, 7), number(300, 1), vec![0; 1024]),
        // A single square of these numbers already takes long.
        (number(9000, 3), number(3, 1), number(8999, 4)),
        (number(20, 3), vec![2], number(8200, 5)),
        (number(8200, 3), number(40, 7), number(32, 5)),
        (number(8200, 3), number(40, 7), vec![0; 32]),
        (number(8200, 3), vec![], number(32, 5)),
    ];
    for (base, exponent, modulus) in cases {
        let whole = |bytes: Vec<u8>| num_bigint::BigUint::from_bytes_be(&bytes);
        let expected = whole(DefaultCrypto.modexp(&base, &exponent, &modulus).unwrap());
        assert!(super::modexp::is_long(&base, &exponent, &modulus) || modulus.len() == 1);
        let found = whole(super::modexp::power(&base, &exponent, &modulus).unwrap());
        assert_eq!(found, expected, "{} {} {}", base.len(), exponent.len(), modulus.len());
    }
}

#[test]
fn pairings_in_steps_have_the_same_result() {
    let mut pairs: Vec<_> = (1..20).flat_map(bn_pairs).collect();
    // The last two pairs each contain a point at infinity.
    pairs.push((vec![0; 64], pairs[0].1.clone()));
    pairs.push((pairs[0].0.clone(), vec![0; 128]));
    let check = |pairs: &[(Vec<u8>, Vec<u8>)]| {
        let pairs: Vec<_> = pairs.iter().map(|(one, two)| (one.as_slice(), two.as_slice())).collect();
        (DefaultCrypto.bn254_pairing_check(&pairs), super::pairing::bn254(&pairs))
    };
    assert_eq!(check(&pairs), (Ok(true), Ok(true)));
    assert_eq!(check(&pairs[1..]), (Ok(false), Ok(false)));
    for index in [0, 70] {
        for (byte, broken) in [(0, 0xff), (31, 0x77)] {
            let mut pairs: Vec<_> = (1..40).flat_map(bn_pairs).collect();
            pairs[index].0[byte] = broken;
            let (expected, found) = check(&pairs);
            assert!(expected.is_err());
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn pairings_on_the_other_curve_have_the_same_result() {
    let (one, two) = bls_points(1);
    let inverse = |(x, y): G1Point| -> G1Point {
        let y = -bls::Fq::from_be_bytes_mod_order(&y);
        (x, bytes_of(y))
    };
    let both = |times| {
        let (first, _) = bls_points(times);
        [(first, two), (inverse(first), two)]
    };
    let mut pairs: Vec<_> = (2..20).flat_map(both).collect();
    pairs.push((([0; 48], [0; 48]), two));
    pairs.push((one, ([0; 48], [0; 48], [0; 48], [0; 48])));
    let check = |pairs: &[(G1Point, G2Point)]| {
        (DefaultCrypto.bls12_381_pairing_check(pairs), super::pairing::bls12_381(pairs))
    };
    assert_eq!(check(&pairs), (Ok(true), Ok(true)));
    assert_eq!(check(&pairs[1..]), (Ok(false), Ok(false)));
    pairs[33].0 .1[47] ^= 1;
    let (expected, found) = check(&pairs);
    assert!(expected.is_err());
    assert_eq!(found, expected);
    pairs[33].0 = outside_the_group();
    let (expected, found) = check(&pairs);
    assert!(expected.is_err());
    assert_eq!(found, expected);
}

fn outside_the_group() -> G1Point {
    let point = (0..100_u64).find_map(|x| {
        let point = bls::G1Affine::get_point_from_x_unchecked(bls::Fq::from(x), false)?;
        (!point.is_in_correct_subgroup_assuming_on_curve()).then_some(point)
    });
    let point = point.unwrap();
    (bytes_of(point.x), bytes_of(point.y))
}

#[test]
fn sums_of_products_in_steps_have_the_same_result() {
    let scalar = |number: u64| -> [u8; 32] {
        let mut scalar = [0; 32];
        scalar[24..].copy_from_slice(&number.to_be_bytes());
        scalar
    };
    let points: Vec<_> = (1..=20).map(bls_points).collect();
    for count in [1, super::POINTS, super::POINTS + 1, 2 * super::POINTS] {
        let first = || (0..count).map(|index| Ok((points[index % 20].0, scalar(index as u64))));
        let found = watched(false, || InterruptibleCrypto.bls12_381_g1_msm(&mut first()));
        assert_eq!(found, DefaultCrypto.bls12_381_g1_msm(&mut first()), "{count}");
        let second = || (0..count).map(|index| Ok((points[index % 20].1, scalar(index as u64))));
        let found = watched(false, || InterruptibleCrypto.bls12_381_g2_msm(&mut second()));
        assert_eq!(found, DefaultCrypto.bls12_381_g2_msm(&mut second()), "{count}");
    }
    let broken = || (0..600).map(|index| Ok((points[index % 20].0, scalar(1))));
    let broken = || broken().chain([Ok((([1; 48], [1; 48]), scalar(1)))]);
    let found = watched(false, || InterruptibleCrypto.bls12_381_g1_msm(&mut broken()));
    assert_eq!(found, DefaultCrypto.bls12_381_g1_msm(&mut broken()));
    assert!(found.is_err());
}

/// Check computations of minutes or hours.
#[test]
fn nothing_long_goes_on_once_nobody_waits() {
    watched(true, || {
        let (mut state, mut untouched) = ([1; 8], [1; 8]);
        InterruptibleCrypto.blake2_compress(u32::MAX, &mut state, &[2; 16], &[0, 0], false);
        DefaultCrypto.blake2_compress(0, &mut untouched, &[2; 16], &[0, 0], false);
        assert_eq!(state, untouched);
        let number = vec![0xff; 20_000];
        assert!(InterruptibleCrypto.modexp(&number, &number, &number).is_ok());
        // A single square of this number takes long.
        let number = vec![0xff; 16_000_000];
        assert!(InterruptibleCrypto.modexp(&number, &[2], &number).is_ok());
        let [(one, two), _] = bn_pairs(3);
        let pairs = vec![(one.as_slice(), two.as_slice()); 1_000_000];
        assert_eq!(InterruptibleCrypto.bn254_pairing_check(&pairs), Ok(false));
        let point = bls_points(3);
        assert_eq!(InterruptibleCrypto.bls12_381_pairing_check(&vec![point; 1_000_000]), Ok(false));
        let mut many = std::iter::repeat_n(Ok((point.0, [0xff; 32])), 10_000_000);
        assert!(InterruptibleCrypto.bls12_381_g1_msm(&mut many).is_ok());
        let mut many = std::iter::repeat_n(Ok((point.1, [0xff; 32])), 10_000_000);
        assert!(InterruptibleCrypto.bls12_381_g2_msm(&mut many).is_ok());
    });
}
