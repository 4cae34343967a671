//! Outcomes of a list's calls after a step, while other lists go on.

use std::collections::VecDeque;

use super::keys::ListId;

/// Late lists of each client, in the order of the clients' turns.
pub type LateTurns = VecDeque<VecDeque<ListId>>;

#[derive(Debug, Clone)]
pub struct PinnedOutcome {
    pub text: Box<[u8]>,
    pub digest: u64,
}

/// Outcomes of a list's calls after a step. Later steps do not change them.
#[derive(Debug)]
pub struct Pinned {
    pub step: u64,
    /// Outcomes in the order of the calls; None while the call is to run.
    pub outcomes: Vec<Option<PinnedOutcome>>,
    /// Indices of the calls that are to run, the next one last.
    pub due: Vec<usize>,
    pub bytes: usize,
    /// True if the outcomes were sent to the subscribers.
    pub is_told: bool,
}

impl Pinned {
    pub fn is_complete(&self) -> bool {
        self.outcomes.iter().all(Option::is_some)
    }

    /// Return the text and the digest of each outcome.
    pub fn told(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.outcomes.iter().flatten().map(|outcome| (&*outcome.text, outcome.digest))
    }
}
