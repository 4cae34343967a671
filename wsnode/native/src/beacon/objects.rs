//! Light-client objects of the Beacon API as decoded, with the roots by which `rules` verifies them.

use std::str::FromStr;

use alloy_primitives::B256;

use super::forks::{ExecutionForm, ForkForm, PAYLOAD};
use super::merkle::{bytes_root, hash_pair, is_branch, merkleize, number_leaf};
use super::refusal::Refusal;

pub const KEY_BYTES: usize = 48;
pub const SIGNATURE_BYTES: usize = 96;

/// Kinds of updates, named by the newest parts that they have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateKind {
    /// A head, finality and the next committee.
    Update,
    /// A head and finality.
    Finality,
    /// A head.
    Optimistic,
}

impl FromStr for UpdateKind {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        match name {
            "update" => Ok(Self::Update),
            "finality_update" => Ok(Self::Finality),
            "optimistic_update" => Ok(Self::Optimistic),
            _ => Err(()),
        }
    }
}

/// `BeaconBlockHeader`.
#[derive(Debug, Clone, Copy, Default)]
pub struct BeaconHeader {
    pub slot: u64,
    pub proposer_index: u64,
    pub parent_root: B256,
    pub state_root: B256,
    pub body_root: B256,
}

/// Proof of the hash of a header's execution block: a Merkle branch under the header's body root.
#[derive(Debug, Clone, Default)]
pub enum ExecutionPart {
    #[default]
    None,
    Payload {
        payload: Box<PayloadHeader>,
        branch: Vec<B256>,
    },
    BlockHash {
        block_hash: B256,
        branch: Vec<B256>,
    },
}

/// Execution payload header as the SSZ leaves of its 17 members; both blob gas leaves are zero before Deneb.
#[derive(Debug, Clone)]
pub struct PayloadHeader {
    pub leaves: [B256; 17],
    pub block_hash: B256,
    pub is_empty: bool,
}

/// `LightClientHeader` as decoded; neither its root nor its branch is verified.
#[derive(Debug, Clone, Default)]
pub struct UnverifiedHeader {
    pub beacon: BeaconHeader,
    pub execution: ExecutionPart,
}

/// `SyncCommittee` as decoded; neither its root nor its keys are verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnverifiedCommittee {
    pub pubkeys: Vec<[u8; KEY_BYTES]>,
    /// `aggregate_pubkey`, hashed into the committee's root and never used as a key.
    pub aggregate: [u8; KEY_BYTES],
}

/// A committee or a header with the branch that proves it.
#[derive(Debug, Clone)]
pub struct Branched<T> {
    pub value: T,
    pub branch: Vec<B256>,
}

#[derive(Debug, Clone)]
pub struct LightClientBootstrap {
    pub header: UnverifiedHeader,
    pub committee: Branched<UnverifiedCommittee>,
}

/// `LightClientUpdate`, `LightClientFinalityUpdate` or `LightClientOptimisticUpdate`.
#[derive(Debug, Clone)]
pub struct LightClientUpdate {
    pub attested: UnverifiedHeader,
    pub next_committee: Option<Branched<UnverifiedCommittee>>,
    pub finalized: Option<Branched<UnverifiedHeader>>,
    /// `sync_committee_bits`: a flag for each member of the committee, in its order.
    pub signers: Vec<bool>,
    pub signature: [u8; SIGNATURE_BYTES],
    pub signature_slot: u64,
}

impl BeaconHeader {
    pub fn root(&self) -> B256 {
        let Self { slot, proposer_index, parent_root, state_root, body_root } = *self;
        merkleize(&[number_leaf(slot), number_leaf(proposer_index), parent_root, state_root, body_root])
    }

    fn is_empty(&self) -> bool {
        self.slot == 0
            && self.proposer_index == 0
            && [self.parent_root, self.state_root, self.body_root].iter().all(B256::is_zero)
    }
}

impl PayloadHeader {
    fn root(&self, members: usize) -> B256 {
        merkleize(&self.leaves[..members])
    }

    fn has_blob_gas(&self) -> bool {
        self.leaves[15..].iter().any(|leaf| !leaf.is_zero())
    }
}

impl UnverifiedHeader {
    /// Return the proved hash of the header's execution block, zero before Capella.
    ///
    /// `form` is of the fork of the header's own slot, since an answer may send the header in a later fork's form.
    pub fn block_hash(&self, form: &ForkForm) -> Result<B256, Refusal> {
        let refusal = Refusal::ExecutionBranch { slot: self.beacon.slot };
        let body_root = self.beacon.body_root;
        let (is_proved, block_hash) = match (&self.execution, form.execution) {
            (part, ExecutionForm::None) => (part.is_empty(), B256::ZERO),
            (ExecutionPart::Payload { payload, branch }, ExecutionForm::Payload(members)) => {
                let is_of_fork = members > 15 || !payload.has_blob_gas();
                (
                    is_of_fork && is_branch(payload.root(members), branch, PAYLOAD, body_root),
                    payload.block_hash,
                )
            }
            (ExecutionPart::BlockHash { block_hash, branch }, execution) => {
                let index = execution.block_hash_index();
                let is_proved = index.is_some_and(|index| is_branch(*block_hash, branch, index, body_root));
                (is_proved, *block_hash)
            }
            _ => (false, B256::ZERO),
        };
        if is_proved {
            Ok(block_hash)
        } else {
            Err(refusal)
        }
    }

    /// Return whether the header is all zeros: an update without finality has such a finalized header.
    pub fn is_empty(&self) -> bool {
        self.beacon.is_empty() && self.execution.is_empty()
    }
}

impl ExecutionPart {
    fn is_empty(&self) -> bool {
        match self {
            Self::None => true,
            Self::Payload { payload, branch } => payload.is_empty && branch.iter().all(B256::is_zero),
            Self::BlockHash { block_hash, branch } => {
                block_hash.is_zero() && branch.iter().all(B256::is_zero)
            }
        }
    }
}

impl UnverifiedCommittee {
    pub fn root(&self) -> B256 {
        let leaves: Vec<B256> = self.pubkeys.iter().map(|key| bytes_root(key)).collect();
        hash_pair(&merkleize(&leaves)[..], &bytes_root(&self.aggregate)[..])
    }

    pub fn is_empty(&self) -> bool {
        self.pubkeys.iter().chain([&self.aggregate]).all(|key| key.iter().all(|byte| *byte == 0))
    }
}

impl<T> Branched<T> {
    /// Return whether the branch has a node other than zero; an update without the object has a branch of zeros.
    pub fn has_branch(&self) -> bool {
        self.branch.iter().any(|node| !node.is_zero())
    }
}
