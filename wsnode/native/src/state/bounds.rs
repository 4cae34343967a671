//! Bounds of rewinding: the older a block, the more has changed since, and all of it is undone in memory.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use alloy_primitives::B256;
use alloy_trie::Nibbles;

use super::environment::Snapshot;
use super::StateError;
use crate::trie::{NodeStore, TrieError};

/// What a look back may take.
#[derive(Debug, Clone, Copy)]
pub struct Bounds<'b> {
    /// Ends it when set.
    pub cancel: &'b AtomicBool,
    /// Bytes of the lists of what changed since: about 32 a slot and 22 an account.
    pub changes: usize,
    /// Bytes of what is found.
    pub found: usize,
}

/// Bytes of lists that all bounded looks back of the process may have taken back at once; in memory they are 25 times
/// as large.
const MOST_TAKEN: usize = 32 << 20;
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// Room for undone changes, until it is dropped.
#[derive(Debug)]
pub struct Taken(usize);

impl Drop for Taken {
    fn drop(&mut self) {
        TAKEN.fetch_sub(self.0, Ordering::Relaxed);
    }
}

static NEVER: AtomicBool = AtomicBool::new(false);

impl Bounds<'static> {
    /// As far as need be.
    pub fn none() -> Self {
        Self { cancel: &NEVER, changes: usize::MAX, found: usize::MAX }
    }
}

impl<'b> Bounds<'b> {
    /// As far as `changes` bytes of lists allow, until `cancel` is set, if there is one.
    pub fn back(cancel: Option<&'b AtomicBool>, changes: usize) -> Self {
        Self { cancel: cancel.unwrap_or(&NEVER), changes, found: usize::MAX }
    }
}

impl Bounds<'_> {
    /// Room to take `bytes` of lists back; an error if others have taken it.
    pub(super) fn take(&self, bytes: usize) -> Result<Taken, StateError> {
        let before = TAKEN.fetch_add(bytes, Ordering::Relaxed);
        let taken = Taken(bytes);
        match self.changes < usize::MAX && before > 0 && before + bytes > MOST_TAKEN {
            true => Err(StateError::TooManyLookBack),
            false => Ok(taken),
        }
    }

    /// An error if `bytes` were found and that is too much.
    pub fn check_found(&self, bytes: usize) -> Result<(), StateError> {
        match bytes > self.found {
            true => Err(StateError::TooMuchFound { limit: self.found }),
            false => Ok(()),
        }
    }

    /// An error once it is cancelled.
    pub fn check(&self) -> Result<(), StateError> {
        match self.cancel.load(Ordering::Relaxed) {
            true => Err(StateError::Cancelled),
            false => Ok(()),
        }
    }
}

/// The nodes of a snapshot's head, until a cancellation.
pub(super) struct BoundedNodes<'s, 'e>(pub(super) &'s Snapshot<'e>, pub(super) Bounds<'s>);

impl NodeStore for BoundedNodes<'_, '_> {
    fn node(&self, owner: Option<&B256>, path: &Nibbles) -> Result<Option<&[u8]>, TrieError> {
        self.1.check().map_err(unreadable)?;
        self.0.node(owner, path)
    }

    fn named(&self, hash: &B256) -> Result<Option<&[u8]>, TrieError> {
        self.0.named(hash)
    }

    fn is_partial(&self) -> bool {
        self.0.is_partial()
    }
}

/// The errors of bounded reads of nodes, as their readers see them.
pub(super) fn unreadable(reason: StateError) -> TrieError {
    TrieError::Store(Box::new(reason))
}
