//! Forks of the beacon chain: their schedule on a network, and the generalized indices of their light-client proofs.

use alloy_primitives::B256;
use sha2::{Digest, Sha256};

use super::merkle::hash_pair;
use super::refusal::Refusal;

/// Generalized index of `execution_payload` in a block body, Capella to Fulu.
pub const PAYLOAD: u64 = 25;
/// Index of `block_hash` among the members of a payload header, from 0.
const BLOCK_HASH_MEMBER: u64 = 12;
/// `DOMAIN_SYNC_COMMITTEE` of altair/beacon-chain.md.
const SYNC_COMMITTEE_DOMAIN: [u8; 4] = [7, 0, 0, 0];
/// Maximum number of members of a sync committee; the mainnet preset has 512.
const MAX_MEMBERS: u64 = 8192;

/// Forks of the beacon chain with known light-client data, in the order of `FORMS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConsensusFork {
    Phase0,
    Altair,
    Bellatrix,
    Capella,
    Deneb,
    Electra,
    Fulu,
    Gloas,
}

/// Form of a header's proof of its execution block's hash, which depends on the fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutionForm {
    /// No proof, before Capella.
    None,
    /// Payload header with this number of members, and its branch to the body root.
    Payload(usize),
    /// Block hash alone, with a branch from this generalized index of the body.
    BlockHash(u64),
}

/// Light-client form of a fork: generalized indices below the state root, and the form of the execution proof.
#[derive(Debug, Clone, Copy)]
pub struct ForkForm {
    fork: ConsensusFork,
    name: &'static str,
    pub finalized_root: u64,
    pub current_committee: u64,
    pub next_committee: u64,
    pub execution: ExecutionForm,
}

const fn form(
    fork: ConsensusFork,
    name: &'static str,
    indices: [u64; 3],
    execution: ExecutionForm,
) -> ForkForm {
    let [finalized_root, current_committee, next_committee] = indices;
    ForkForm { fork, name, finalized_root, current_committee, next_committee, execution }
}

/// Forms of all forks, indexed by `ConsensusFork`; the three indices are those of the finalized root, the current
/// committee and the next committee.
///
/// Sources: altair, capella, deneb, electra and gloas `/light-client/sync-protocol.md` of consensus-specs.
/// Phase 0 has no light-client data; its slots have the form of Altair.
const FORMS: [ForkForm; 8] = [
    form(ConsensusFork::Phase0, "phase0", [105, 54, 55], ExecutionForm::None),
    form(ConsensusFork::Altair, "altair", [105, 54, 55], ExecutionForm::None),
    form(ConsensusFork::Bellatrix, "bellatrix", [105, 54, 55], ExecutionForm::None),
    form(ConsensusFork::Capella, "capella", [105, 54, 55], ExecutionForm::Payload(15)),
    form(ConsensusFork::Deneb, "deneb", [105, 54, 55], ExecutionForm::Payload(17)),
    form(ConsensusFork::Electra, "electra", [169, 86, 87], ExecutionForm::Payload(17)),
    form(ConsensusFork::Fulu, "fulu", [169, 86, 87], ExecutionForm::Payload(17)),
    // The branch of Gloas leads to signed_execution_payload_bid.message.parent_block_hash.
    form(ConsensusFork::Gloas, "gloas", [735, 2945, 2946], ExecutionForm::BlockHash(2856)),
];

impl ConsensusFork {
    /// Return the fork with the name that an answer has in `version`; none if it is unknown.
    pub fn named(name: &str) -> Option<Self> {
        FORMS.iter().find(|form| form.name == name).map(|form| form.fork)
    }

    pub fn form(self) -> &'static ForkForm {
        &FORMS[self as usize]
    }
}

impl ExecutionForm {
    /// Return the generalized index of the block hash in the body; none before Capella.
    ///
    /// An answer in the form of Gloas has the hash alone, for headers of earlier forks too.
    pub fn block_hash_index(self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Payload(members) => Some(PAYLOAD * members.next_power_of_two() as u64 + BLOCK_HASH_MEMBER),
            Self::BlockHash(index) => Some(index),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduledFork {
    pub name: String,
    pub epoch: u64,
    pub version: [u8; 4],
}

/// Constants and fork schedule of a network, as far as a light client needs them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeaconConfig {
    pub genesis_validators_root: B256,
    pub genesis_time_seconds: u64,
    pub slot_milliseconds: u64,
    /// Members of a sync committee.
    pub committee_size: u64,
    pub slots_per_epoch: u64,
    pub epochs_per_period: u64,
    /// Oldest age of a trusted finalized block, in seconds; on top of an older one a chain could be forged.
    pub weak_subjectivity_seconds: u64,
    /// Forks in the order of their epochs; the first begins at epoch 0.
    pub forks: Vec<ScheduledFork>,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BeaconConfigError {
    #[error(
        "a committee of {0} members: a multiple of 8 up to {MAX_MEMBERS} that is a power of two is needed"
    )]
    Committee(u64),
    #[error("{0} must be more than 0")]
    Zero(&'static str),
    #[error("the forks must begin with epoch 0 and be in the order of their epochs")]
    Order,
}

impl BeaconConfig {
    /// Return the configuration itself if its numbers and the order of its forks are valid.
    pub fn checked(self) -> Result<Self, BeaconConfigError> {
        let size = self.committee_size;
        if !size.is_power_of_two() || !(8..=MAX_MEMBERS).contains(&size) {
            return Err(BeaconConfigError::Committee(size));
        }
        for (name, value) in [
            ("slot_milliseconds", self.slot_milliseconds),
            ("slots_per_epoch", self.slots_per_epoch),
            ("epochs_per_period", self.epochs_per_period),
        ] {
            if value == 0 {
                return Err(BeaconConfigError::Zero(name));
            }
        }
        let is_ordered = self.forks.windows(2).all(|pair| pair[0].epoch <= pair[1].epoch);
        if !is_ordered || self.forks.first().is_none_or(|first| first.epoch != 0) {
            return Err(BeaconConfigError::Order);
        }
        Ok(self)
    }

    pub fn epoch(&self, slot: u64) -> u64 {
        slot / self.slots_per_epoch
    }

    /// Return the number of the sync committee period of a slot.
    pub fn period(&self, slot: u64) -> u64 {
        self.epoch(slot) / self.epochs_per_period
    }

    /// Return the slot at a time in milliseconds since 1970; 0 before genesis.
    pub fn slot_at(&self, milliseconds: u64) -> u64 {
        milliseconds.saturating_sub(self.genesis_time_seconds.saturating_mul(1000)) / self.slot_milliseconds
    }

    /// Return the start of a slot, in seconds since 1970.
    pub fn slot_start(&self, slot: u64) -> u64 {
        self.genesis_time_seconds.saturating_add(slot.saturating_mul(self.slot_milliseconds) / 1000)
    }

    /// Return the fork of a slot; of several forks with the same epoch, the last.
    pub fn scheduled(&self, slot: u64) -> &ScheduledFork {
        let epoch = self.epoch(slot);
        let place = self.forks.partition_point(|fork| fork.epoch <= epoch);
        &self.forks[place.saturating_sub(1)]
    }

    /// Return the light-client form of a slot's fork; refuse a fork without a known form.
    pub fn form(&self, slot: u64) -> Result<&'static ForkForm, Refusal> {
        let name = &self.scheduled(slot).name;
        ConsensusFork::named(name)
            .map(ConsensusFork::form)
            .ok_or_else(|| Refusal::Fork { slot, name: name.clone() })
    }

    /// Return the signing root of block root `block` for a signature in `signature_slot`.
    ///
    /// Its domain has the fork version of the slot before `signature_slot`: at a fork's first slot the old version
    /// signs (altair/light-client/sync-protocol.md: `validate_light_client_update`).
    pub fn signing_root(&self, block: B256, signature_slot: u64) -> B256 {
        let version = self.scheduled(signature_slot.max(1) - 1).version;
        let chain = hash_pair(&B256::right_padding_from(&version)[..], &self.genesis_validators_root[..]);
        let domain = [&SYNC_COMMITTEE_DOMAIN, &chain[..28]].concat();
        hash_pair(&block[..], &domain)
    }

    /// Return the SHA-256 hash of the network's constants; a stored row holds it to name its network.
    ///
    /// Forks are left out, since a later release knows more of them.
    pub fn digest(&self) -> B256 {
        let mut hasher = Sha256::new().chain_update(self.genesis_validators_root);
        for number in [
            self.genesis_time_seconds,
            self.slot_milliseconds,
            self.committee_size,
            self.slots_per_epoch,
            self.epochs_per_period,
        ] {
            hasher.update(number.to_le_bytes());
        }
        B256::new(hasher.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beacon::merkle::depth;

    fn network() -> BeaconConfig {
        let fork = |name: &str, epoch, version| ScheduledFork { name: name.into(), epoch, version };
        BeaconConfig {
            genesis_validators_root: B256::repeat_byte(1),
            genesis_time_seconds: 1_000,
            slot_milliseconds: 12_000,
            committee_size: 32,
            slots_per_epoch: 8,
            epochs_per_period: 8,
            weak_subjectivity_seconds: 14 * 86_400,
            forks: vec![
                fork("phase0", 0, [0; 4]),
                fork("altair", 0, [1, 0, 0, 0]),
                fork("gloas", 4, [7, 0, 0, 0]),
                fork("heze", 6, [8, 0, 0, 0]),
            ],
        }
    }

    #[test]
    fn branches_are_as_long_as_the_specification_says() {
        let lengths = |name: &str| {
            let form = ConsensusFork::named(name).unwrap().form();
            [form.finalized_root, form.current_committee, form.next_committee].map(depth)
        };
        assert_eq!(lengths("altair"), [6, 5, 5]);
        assert_eq!(lengths("electra"), [7, 6, 6]);
        assert_eq!(lengths("gloas"), [9, 11, 11]);
        let index = |name: &str| ConsensusFork::named(name).unwrap().form().execution.block_hash_index();
        assert_eq!([index("capella"), index("fulu"), index("gloas")], [Some(412), Some(812), Some(2856)]);
        assert_eq!(index("bellatrix"), None);
        assert!(FORMS.iter().enumerate().all(|(place, form)| form.fork as usize == place));
    }

    #[test]
    fn a_slot_has_the_last_fork_of_its_epoch_and_a_fork_without_a_form_is_named() {
        let network = network();
        assert_eq!(network.scheduled(0).name, "altair");
        assert_eq!(network.scheduled(31).name, "altair");
        assert_eq!(network.scheduled(32).name, "gloas");
        let refusal = network.form(48).unwrap_err();
        assert_eq!(refusal.to_string(), "fork: slot 48 is of fork heze, which this release does not know");
        assert_eq!((refusal.rule(), refusal.slot()), ("fork", Some(48)));
    }

    #[test]
    fn the_first_slot_of_a_fork_is_signed_with_the_version_before() {
        let network = network();
        let root = |slot| network.signing_root(B256::ZERO, slot);
        assert_eq!(root(0), root(32));
        assert_ne!(root(32), root(33));
    }

    #[test]
    fn a_clock_before_genesis_and_at_the_end_of_numbers_has_a_slot() {
        let network = network();
        assert_eq!(network.slot_at(0), 0);
        assert_eq!(network.slot_at(1_000_000 + 12_000), 1);
        assert_eq!(network.slot_at(1_000_000 + 23_999), 1);
        assert_eq!(network.slot_start(2), 1_024);
        assert!(network.slot_start(u64::MAX) > 1 << 53);
    }

    #[test]
    fn what_no_network_has_is_refused() {
        let with = |change: fn(&mut BeaconConfig)| {
            let mut network = network();
            change(&mut network);
            network.checked().map(drop)
        };
        assert_eq!(with(|_| ()), Ok(()));
        assert_eq!(with(|network| network.committee_size = 12), Err(BeaconConfigError::Committee(12)));
        assert_eq!(
            with(|network| network.committee_size = 1 << 40),
            Err(BeaconConfigError::Committee(1 << 40))
        );
        assert_eq!(
            with(|network| network.slots_per_epoch = 0),
            Err(BeaconConfigError::Zero("slots_per_epoch"))
        );
        assert_eq!(with(|network| network.forks.clear()), Err(BeaconConfigError::Order));
        assert_eq!(with(|network| network.forks.reverse()), Err(BeaconConfigError::Order));
    }
}
