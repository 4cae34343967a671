//! Why light-client data is not taken: each rule has an error of its own.

use alloy_primitives::B256;

/// Longest text of others in a message, in characters.
const MOST_QUOTED: usize = 120;

/// A rule that light-client data breaks, with the slot of the header that breaks it where it has one.
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
    /// Refuse what has not the form of its kind; the reason may quote the text itself, so it is cut.
    pub fn malformed(reason: impl ToString) -> Self {
        Self::Malformed(reason.to_string().chars().take(MOST_QUOTED).collect())
    }

    /// Refuse a fork by the name that the answer gives it.
    pub fn version(name: &str) -> Self {
        Self::Version(name.chars().take(MOST_QUOTED).collect())
    }

    /// The name of the rule, as logs, metrics and test vectors have it.
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

    /// The slot of the header that breaks the rule; of a signature in the future, its own.
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
