//! Outcomes of a list of calls after a step that others have gone beyond.

use std::collections::VecDeque;

use super::keys::ListId;

/// The late lists by their clients, in turns.
pub type LateTurns = VecDeque<VecDeque<ListId>>;

#[derive(Debug, Clone)]
pub struct PinnedOutcome {
    pub text: Box<[u8]>,
    pub digest: u64,
}

/// The outcomes of a list's calls after a step, which later steps leave as they are.
#[derive(Debug)]
pub struct Pinned {
    pub step: u64,
    /// In the order of the calls; None while the call is to run.
    pub outcomes: Vec<Option<PinnedOutcome>>,
    /// The places of the calls that are to run, the next one last.
    pub due: Vec<usize>,
    pub bytes: usize,
    /// Whether the subscribers have them.
    pub is_told: bool,
}

impl Pinned {
    pub fn is_complete(&self) -> bool {
        self.outcomes.iter().all(Option::is_some)
    }

    /// The texts and digests of outcomes that are told.
    pub fn told(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.outcomes.iter().flatten().map(|outcome| (&*outcome.text, outcome.digest))
    }
}
