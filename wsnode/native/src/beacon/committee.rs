//! The keys of a sync committee, and what they have signed.

use alloy_primitives::B256;
use blst::min_pk::{AggregatePublicKey, PublicKey, Signature};
use blst::{blst_p1_affine, blst_p2_affine, Pairing, BLST_ERROR};

use super::codec::{UnverifiedCommittee, KEY_BYTES, SIGNATURE_BYTES};

/// Domain separation tag of Ethereum's signatures (phase0/beacon-chain.md: BLS signatures, proof of possession).
const TAG: &[u8] = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_";

/// A committee whose keys are points, each checked once.
#[derive(Debug)]
pub struct Committee {
    told: UnverifiedCommittee,
    keys: Vec<PublicKey>,
}

impl Committee {
    /// Decode the keys and check that each is in its group: 70 to 90 ms for 512 of them.
    ///
    /// The error is the place of a member whose key is none.
    pub fn decode(told: UnverifiedCommittee) -> Result<Self, usize> {
        let keys = told.pubkeys.iter().enumerate();
        let keys = keys.map(|(member, key)| PublicKey::key_validate(key).map_err(|_| member));
        Ok(Self { keys: keys.collect::<Result<_, _>>()?, told })
    }

    /// Whether the members with a flag have signed `root` together (FastAggregateVerify): 2 ms for 512 of them.
    /// A member that is in the committee twice counts twice.
    pub fn has_signed(&self, signers: &[bool], root: B256, signature: &[u8; SIGNATURE_BYTES]) -> bool {
        let keys = self.keys.iter().zip(signers).filter_map(|(key, is_signer)| is_signer.then_some(key));
        let keys: Vec<&PublicKey> = keys.collect();
        // The checks of points that blst makes: in the group, and not at infinity.
        let Ok(signature) = Signature::sig_validate(signature, true) else { return false };
        let Ok(sum) = AggregatePublicKey::aggregate(&keys, false) else { return false };
        let (key, signature) = (blst_p1_affine::from(sum.to_public_key()), blst_p2_affine::from(signature));
        // On this thread: `Signature::verify` would start a pool of threads for one pairing.
        let mut pairing = Pairing::new(true, TAG);
        let added = pairing.aggregate(&key, false, &signature, false, &root[..], &[]);
        pairing.commit();
        added == BLST_ERROR::BLST_SUCCESS && pairing.finalverify(None)
    }

    pub fn told(&self) -> &UnverifiedCommittee {
        &self.told
    }

    /// The keys as they were told, the aggregate key behind them.
    pub fn encode(&self, row: &mut Vec<u8>) {
        self.told.pubkeys.iter().chain([&self.told.aggregate]).for_each(|key| row.extend(key));
    }

    /// What `encode` has written of a committee of so many members.
    pub fn encoded_size(members: u64) -> usize {
        (members as usize + 1) * KEY_BYTES
    }
}
