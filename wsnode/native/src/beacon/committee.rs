//! Sync committee: its keys, and the check of a signature by some of its members.

use std::sync::OnceLock;

use alloy_primitives::B256;
use blst::min_pk::{AggregatePublicKey, PublicKey, Signature};
use blst::{blst_p1_affine, blst_p2_affine, Pairing, BLST_ERROR};

use super::objects::{UnverifiedCommittee, KEY_BYTES, SIGNATURE_BYTES};

/// Domain separation tag of Ethereum's signatures (phase0/beacon-chain.md: BLS signatures, proof of possession).
const TAG: &[u8] = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_";

/// Bit of a compressed point's first byte that marks the point at infinity (zkcrypto's BLS12-381 encoding).
const INFINITY: u8 = 0x40;

/// Sync committee whose root is proved; its keys are decoded into curve points at their first use.
///
/// No single key is checked to be in the group of keys: the check takes three times as long as all other work, and
/// the beacon chain has made it with the deposit (phase0/beacon-chain.md: `apply_deposit`). The deposit is also the
/// proof of possession presumed by FastAggregateVerify. The sum of the signers' keys is checked for each signature.
#[derive(Debug)]
pub struct Committee {
    told: UnverifiedCommittee,
    /// The points of all keys, or the index of the first member with an invalid key; empty until first needed.
    keys: OnceLock<Result<Vec<PublicKey>, usize>>,
}

impl Committee {
    pub fn new(told: UnverifiedCommittee) -> Self {
        Self { told, keys: OnceLock::new() }
    }

    /// Return the keys as points on the curve; the first call decodes them, in 14 ms for 512 keys.
    ///
    /// The error is the index of the first member whose key is no point, or the point at infinity.
    pub fn keys(&self) -> Result<&[PublicKey], usize> {
        let keys = self.keys.get_or_init(|| {
            let keys = self.told.pubkeys.iter().enumerate();
            keys.map(|(member, key)| point(key).ok_or(member)).collect()
        });
        keys.as_deref().map_err(|member| *member)
    }

    /// Return whether `signature` is the aggregate signature of `root` by the members with a flag in `signers`.
    ///
    /// The check is FastAggregateVerify of draft-irtf-cfrg-bls-signature-05, 3.3.4, with KeyValidate of the keys' sum;
    /// it takes 2 ms for 512 signers. A key with two places in the committee counts twice. Errors are those of `keys`.
    pub fn has_signed(
        &self,
        signers: &[bool],
        root: B256,
        signature: &[u8; SIGNATURE_BYTES],
    ) -> Result<bool, usize> {
        let keys = self.keys()?.iter().zip(signers).filter_map(|(key, is_signer)| is_signer.then_some(key));
        let keys: Vec<&PublicKey> = keys.collect();
        // `sig_validate` and `validate` check that a point is in the group and not at infinity.
        let Ok(signature) = Signature::sig_validate(signature, true) else { return Ok(false) };
        let Ok(sum) = AggregatePublicKey::aggregate(&keys, false) else { return Ok(false) };
        let sum = sum.to_public_key();
        if sum.validate().is_err() {
            return Ok(false);
        }
        let (key, signature) = (blst_p1_affine::from(sum), blst_p2_affine::from(signature));
        // The pairing is computed on this thread, because `Signature::verify` would start a pool of threads
        // for it.
        let mut pairing = Pairing::new(true, TAG);
        let added = pairing.aggregate(&key, false, &signature, false, &root[..], &[]);
        pairing.commit();
        Ok(added == BLST_ERROR::BLST_SUCCESS && pairing.finalverify(None))
    }

    pub fn told(&self) -> &UnverifiedCommittee {
        &self.told
    }

    /// Append the compressed keys of all members and the aggregate key to a row, 48 bytes each.
    pub fn encode(&self, row: &mut Vec<u8>) {
        self.told.pubkeys.iter().chain([&self.told.aggregate]).for_each(|key| row.extend(key));
    }

    /// Return the bytes that `encode` appends for a committee of `members` members.
    pub fn encoded_size(members: u64) -> usize {
        (members as usize + 1) * KEY_BYTES
    }
}

/// Return the point of a compressed key; none if it is not on the curve, or is the point at infinity.
fn point(key: &[u8; KEY_BYTES]) -> Option<PublicKey> {
    if key[0] & INFINITY != 0 {
        return None;
    }
    PublicKey::uncompress(key).ok()
}

#[cfg(test)]
mod tests {
    use blst::min_pk::{AggregateSignature, SecretKey};

    use super::*;

    const ROOT: B256 = B256::repeat_byte(7);

    fn secret(member: u8) -> SecretKey {
        SecretKey::key_gen(&[member; 32], &[]).unwrap()
    }

    fn committee(pubkeys: Vec<[u8; KEY_BYTES]>) -> Committee {
        Committee::new(UnverifiedCommittee { pubkeys, aggregate: [0; KEY_BYTES] })
    }

    fn signed_by(members: &[u8]) -> [u8; SIGNATURE_BYTES] {
        let parts: Vec<Signature> =
            members.iter().map(|member| secret(*member).sign(&ROOT[..], TAG, &[])).collect();
        let parts: Vec<&Signature> = parts.iter().collect();
        AggregateSignature::aggregate(&parts, false).unwrap().to_signature().to_bytes()
    }

    /// Find a point on the curve but outside the group of keys, as almost all points are.
    fn outside() -> [u8; KEY_BYTES] {
        let candidates = (1..=u8::MAX).map(|last| {
            let mut key = [0; KEY_BYTES];
            (key[0], key[KEY_BYTES - 1]) = (0x80, last);
            key
        });
        let is_outside =
            |key: &[u8; KEY_BYTES]| PublicKey::uncompress(key).is_ok_and(|point| point.validate().is_err());
        candidates.into_iter().find(is_outside).unwrap()
    }

    #[test]
    fn what_flagged_members_have_signed_is_theirs_and_nobody_elses() {
        let keys = (0..6).map(|member| secret(member).sk_to_pk().to_bytes());
        // The last member has two places in the committee, and signs twice.
        let committee = committee(keys.chain([secret(5).sk_to_pk().to_bytes()]).collect());
        let signature = signed_by(&[0, 2, 5, 5]);
        let flags = [true, false, true, false, false, true, true];
        assert_eq!(committee.has_signed(&flags, ROOT, &signature), Ok(true));
        assert_eq!(committee.has_signed(&flags, B256::ZERO, &signature), Ok(false));
        for member in 0..flags.len() {
            let mut others = flags;
            others[member] ^= true;
            assert_eq!(committee.has_signed(&others, ROOT, &signature), Ok(false), "{member}");
        }
        assert_eq!(committee.has_signed(&[false; 7], ROOT, &signature), Ok(false));
    }

    #[test]
    fn a_sum_outside_the_group_or_at_infinity_has_signed_nothing() {
        let own = secret(1).sk_to_pk().to_bytes();
        let committee = committee(vec![own, outside(), negative(own)]);
        let signature = signed_by(&[1]);
        assert_eq!(committee.has_signed(&[true, false, false], ROOT, &signature), Ok(true));
        assert_eq!(committee.has_signed(&[true, true, false], ROOT, &signature), Ok(false));
        assert_eq!(committee.has_signed(&[false, true, false], ROOT, &signature), Ok(false));
        let mut nothing = [0; SIGNATURE_BYTES];
        nothing[0] = 0x80 | INFINITY;
        assert_eq!(committee.has_signed(&[true, false, true], ROOT, &nothing), Ok(false));
    }

    /// Return the negative of a compressed point: the same x, and the sign flag (third bit) inverted.
    fn negative(mut key: [u8; KEY_BYTES]) -> [u8; KEY_BYTES] {
        key[0] ^= 0x20;
        key
    }

    #[test]
    fn a_key_that_is_no_point_or_at_infinity_is_named_by_its_place() {
        let own = secret(1).sk_to_pk().to_bytes();
        let mut infinity = [0; KEY_BYTES];
        infinity[0] = 0x80 | INFINITY;
        // In `above`, x is not below the field's modulus; `plain` lacks the flag of the compressed form.
        let (above, mut plain) = ([0x9f; KEY_BYTES], own);
        plain[0] &= 0x7f;
        for bad in [infinity, above, plain] {
            let committee = committee(vec![own, own, bad]);
            assert_eq!(committee.keys().map(<[PublicKey]>::len), Err(2));
            assert_eq!(committee.has_signed(&[true, false, false], ROOT, &signed_by(&[1])), Err(2));
        }
    }
}
