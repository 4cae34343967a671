//! Errors for refused light-client data, one for each rule.

use alloy_primitives::B256;

/// Longest quotation of received text in a message, in characters.
const MAX_QUOTED: usize = 120;

/// Rule broken by light-client data, with the slot of the header at fault where one could be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("malformed: {0}")]
    Malformed(String),
    #[error("fork: version {0:?} is of no fork that this release knows")]
    Version(String),
    #[error("fork: slot {slot} is of fork {name}, which this release does not know")]
    Fork { slot: u64, name: String },
    #[error("checkpoint: the block asked for is {expected}, the header is that of {actual}")]
    Checkpoint { slot: u64, expected: B256, actual: B256 },
    #[error("committee branch: the current sync committee is not under the state root of slot {slot}")]
    CommitteeBranch { slot: u64 },
    #[error("participants: nobody has signed slot {slot}")]
    Participants { slot: u64 },
    #[error("execution branch: the block hash is not under the body root of slot {slot}")]
    ExecutionBranch { slot: u64 },
    #[error("future: signed in slot {signed}, and it is slot {clock}")]
    Future { signed: u64, clock: u64 },
    #[error("slots: signed in {signed}, attested {attested}, finalized {finalized}")]
    Slots { signed: u64, attested: u64, finalized: u64 },
    #[error("period: signed in period {signed}, the known committees are of {first} to {last}")]
    Period { slot: u64, signed: u64, first: u64, last: u64 },
    #[error("relevant: slot {slot} is not after the finalized slot {finalized}")]
    Relevant { slot: u64, finalized: u64 },
    #[error("finality branch: the finalized header is not under the state root of slot {slot}")]
    FinalityBranch { slot: u64 },
    #[error("next committee: {reason}, slot {slot}")]
    NextCommittee { slot: u64, reason: &'static str },
    #[error("signature: not of the {signers} members that are said to have signed slot {slot}")]
    Signature { slot: u64, signers: usize },
    #[error("committee key: member {member} of the committee proved in slot {slot} has no valid key")]
    CommitteeKey { slot: u64, member: usize },
}

impl Refusal {
    /// Return the refusal of text that cannot be decoded; the reason may quote it and is cut to 120 characters.
    pub fn malformed(reason: impl ToString) -> Self {
        Self::Malformed(reason.to_string().chars().take(MAX_QUOTED).collect())
    }

    /// Return the refusal of an answer's fork name, cut to 120 characters.
    pub fn version(name: &str) -> Self {
        Self::Version(name.chars().take(MAX_QUOTED).collect())
    }

    /// Return the name of the rule in logs, metrics and test vectors.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::Version(_) | Self::Fork { .. } => "fork",
            Self::Checkpoint { .. } => "checkpoint",
            Self::CommitteeBranch { .. } => "committee branch",
            Self::Participants { .. } => "participants",
            Self::ExecutionBranch { .. } => "execution branch",
            Self::Future { .. } => "future",
            Self::Slots { .. } => "slots",
            Self::Period { .. } => "period",
            Self::Relevant { .. } => "relevant",
            Self::FinalityBranch { .. } => "finality branch",
            Self::NextCommittee { .. } => "next committee",
            Self::Signature { .. } => "signature",
            Self::CommitteeKey { .. } => "committee key",
        }
    }

    /// Return the slot of the header at fault; for a signature in the future, the signature's slot.
    ///
    /// None if the data could not be decoded.
    pub fn slot(&self) -> Option<u64> {
        match self {
            Self::Malformed(_) | Self::Version(_) => None,
            Self::Future { signed: slot, .. } | Self::Slots { attested: slot, .. } => Some(*slot),
            Self::Fork { slot, .. }
            | Self::Checkpoint { slot, .. }
            | Self::CommitteeBranch { slot }
            | Self::Participants { slot }
            | Self::ExecutionBranch { slot }
            | Self::Period { slot, .. }
            | Self::Relevant { slot, .. }
            | Self::FinalityBranch { slot }
            | Self::NextCommittee { slot, .. }
            | Self::Signature { slot, .. }
            | Self::CommitteeKey { slot, .. } => Some(*slot),
        }
    }
}
