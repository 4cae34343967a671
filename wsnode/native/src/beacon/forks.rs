//! Forks of the beacon chain: their schedule on a network, and where each has what a light client proves.

use alloy_primitives::B256;
use sha2::{Digest, Sha256};

use super::merkle::hash_pair;
use super::refusal::Refusal;

/// Place of `execution_payload` in a body, Capella to Fulu.
pub const PAYLOAD: u64 = 25;
/// Place of `block_hash` among the members of a payload header.
const BLOCK_HASH_MEMBER: u64 = 12;
/// `DOMAIN_SYNC_COMMITTEE` of altair/beacon-chain.md.
const SYNC_COMMITTEE_DOMAIN: [u8; 4] = [7, 0, 0, 0];
/// Most members of a sync committee; the mainnet preset has 512.
const MOST_MEMBERS: u64 = 8192;

/// A fork whose light-client data has a form here.
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

/// How a header of a fork proves the hash of its execution block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutionForm {
    /// It has none.
    None,
    /// A payload header of so many members.
    Payload(usize),
    /// The hash itself, at a generalized index of the body.
    BlockHash(u64),
}

/// Generalized indices of a fork: under a header's state root, and of the execution proof.
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

/// Sources: altair, capella, deneb, electra and gloas `/light-client/sync-protocol.md` of consensus-specs.
/// Phase 0 has no light-client data; its slots have the form of the first fork that does.
const FORMS: [ForkForm; 8] = [
    form(ConsensusFork::Phase0, "phase0", [105, 54, 55], ExecutionForm::None),
    form(ConsensusFork::Altair, "altair", [105, 54, 55], ExecutionForm::None),
    form(ConsensusFork::Bellatrix, "bellatrix", [105, 54, 55], ExecutionForm::None),
    form(ConsensusFork::Capella, "capella", [105, 54, 55], ExecutionForm::Payload(15)),
    form(ConsensusFork::Deneb, "deneb", [105, 54, 55], ExecutionForm::Payload(17)),
    form(ConsensusFork::Electra, "electra", [169, 86, 87], ExecutionForm::Payload(17)),
    form(ConsensusFork::Fulu, "fulu", [169, 86, 87], ExecutionForm::Payload(17)),
    // signed_execution_payload_bid.message.parent_block_hash.
    form(ConsensusFork::Gloas, "gloas", [735, 2945, 2946], ExecutionForm::BlockHash(2856)),
];

impl ConsensusFork {
    /// The form in which data of a fork comes, by the name in `version`.
    pub fn named(name: &str) -> Option<Self> {
        FORMS.iter().find(|form| form.name == name).map(|form| form.fork)
    }

    pub fn form(self) -> &'static ForkForm {
        &FORMS[self as usize]
    }
}

impl ExecutionForm {
    /// Generalized index of the block hash in the body, where a header has the hash alone.
    pub fn block_hash_index(self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Payload(members) => Some(PAYLOAD * members.next_power_of_two() as u64 + BLOCK_HASH_MEMBER),
            Self::BlockHash(index) => Some(index),
        }
    }
}

/// A fork of a network's schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduledFork {
    pub name: String,
    pub epoch: u64,
    pub version: [u8; 4],
}

/// What a light client must know of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeaconConfig {
    pub genesis_validators_root: B256,
    pub genesis_time_seconds: u64,
    pub slot_milliseconds: u64,
    /// Members of a sync committee.
    pub committee_size: u64,
    pub slots_per_epoch: u64,
    pub epochs_per_period: u64,
    /// Age of a finalized block from which on a chain on top of it could be forged.
    pub weak_subjectivity_seconds: u64,
    /// In the order of their epochs; the first is of epoch 0.
    pub forks: Vec<ScheduledFork>,
}

/// What no network can have.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BeaconConfigError {
    #[error(
        "a committee of {0} members: a multiple of 8 up to {MOST_MEMBERS} that is a power of two is needed"
    )]
    Committee(u64),
    #[error("{0} must be more than 0")]
    Zero(&'static str),
    #[error("the forks must begin with epoch 0 and be in the order of their epochs")]
    Order,
}

impl BeaconConfig {
    /// Return the network if its numbers can be those of one.
    pub fn checked(self) -> Result<Self, BeaconConfigError> {
        let size = self.committee_size;
        if !size.is_power_of_two() || !(8..=MOST_MEMBERS).contains(&size) {
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

    /// The period of the sync committee that signs in a slot.
    pub fn period(&self, slot: u64) -> u64 {
        self.epoch(slot) / self.epochs_per_period
    }

    /// The slot of a time in milliseconds since 1970; 0 before genesis.
    pub fn slot_at(&self, milliseconds: u64) -> u64 {
        milliseconds.saturating_sub(self.genesis_time_seconds.saturating_mul(1000)) / self.slot_milliseconds
    }

    /// The time at which a slot begins, in seconds since 1970.
    pub fn slot_start(&self, slot: u64) -> u64 {
        self.genesis_time_seconds.saturating_add(slot.saturating_mul(self.slot_milliseconds) / 1000)
    }

    /// The fork of a slot; of several with one epoch the last.
    pub fn scheduled(&self, slot: u64) -> &ScheduledFork {
        let epoch = self.epoch(slot);
        let place = self.forks.partition_point(|fork| fork.epoch <= epoch);
        &self.forks[place.saturating_sub(1)]
    }

    /// The form of a slot's data.
    pub fn form(&self, slot: u64) -> Result<&'static ForkForm, Refusal> {
        let name = &self.scheduled(slot).name;
        ConsensusFork::named(name)
            .map(ConsensusFork::form)
            .ok_or_else(|| Refusal::Fork { slot, name: name.clone() })
    }

    /// What the committee signs for a block that is signed in a slot: the version is that of the slot before,
    /// so at a fork's first slot the old version signs (altair/light-client/sync-protocol.md).
    pub fn signing_root(&self, block: B256, signature_slot: u64) -> B256 {
        let version = self.scheduled(signature_slot.max(1) - 1).version;
        let chain = hash_pair(&B256::right_padding_from(&version)[..], &self.genesis_validators_root[..]);
        let domain = [&SYNC_COMMITTEE_DOMAIN, &chain[..28]].concat();
        hash_pair(&block[..], &domain)
    }

    /// Hash of what a network never changes: a stored row is of this network only. The forks are not among it, since
    /// a later release knows more of them.
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
