//! Bounds on rewinding the state: all changes since the requested block are undone in memory, so older blocks
//! cost more.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use alloy_primitives::B256;
use alloy_trie::Nibbles;

use super::environment::Snapshot;
use super::StateError;
use crate::trie::{NodeStore, TrieError};

/// Limits of one read of an older state: memory, bytes found, and cancellation.
#[derive(Debug, Clone, Copy)]
pub struct Bounds<'b> {
    /// Flag by which another thread cancels the read.
    pub cancel: &'b AtomicBool,
    /// Maximum number of bytes of change lists to undo: about 32 a slot and 22 an account.
    pub changes: usize,
    /// Maximum number of bytes of results, such as the nodes of a witness.
    pub found: usize,
}

/// Maximum number of bytes of change lists that all bounded reads of the process may undo at the same time;
/// the undone values take 25 times as much memory.
const MAX_TAKEN: usize = 32 << 20;
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// Reservation of some of the process's `MAX_TAKEN` bytes, given back when it is dropped.
#[derive(Debug)]
pub struct Taken(usize);

impl Drop for Taken {
    fn drop(&mut self) {
        TAKEN.fetch_sub(self.0, Ordering::Relaxed);
    }
}

static NEVER: AtomicBool = AtomicBool::new(false);

impl Bounds<'static> {
    /// Return bounds without any limit, never cancelled.
    pub fn none() -> Self {
        Self { cancel: &NEVER, changes: usize::MAX, found: usize::MAX }
    }
}

impl<'b> Bounds<'b> {
    /// Return bounds of `changes` bytes of change lists, cancelled once `cancel` is set; results are
    /// unlimited.
    pub fn back(cancel: Option<&'b AtomicBool>, changes: usize) -> Self {
        Self { cancel: cancel.unwrap_or(&NEVER), changes, found: usize::MAX }
    }
}

impl Bounds<'_> {
    /// Reserve `bytes` of change lists until the reservation is dropped.
    ///
    /// Unbounded reads, and the only read of the moment, always succeed; any other fails with
    /// `TooManyLookBack` if the process would exceed `MAX_TAKEN`.
    pub(super) fn take(&self, bytes: usize) -> Result<Taken, StateError> {
        let before = TAKEN.fetch_add(bytes, Ordering::Relaxed);
        let taken = Taken(bytes);
        match self.changes < usize::MAX && before > 0 && before + bytes > MAX_TAKEN {
            true => Err(StateError::TooManyLookBack),
            false => Ok(taken),
        }
    }

    /// Check that `bytes` of results are within the limit `self.found`, else fail with `TooMuchFound`.
    pub fn check_found(&self, bytes: usize) -> Result<(), StateError> {
        match bytes > self.found {
            true => Err(StateError::TooMuchFound { limit: self.found }),
            false => Ok(()),
        }
    }

    /// Check that the read is not cancelled, else fail with `Cancelled`.
    pub fn check(&self) -> Result<(), StateError> {
        match self.cancel.load(Ordering::Relaxed) {
            true => Err(StateError::Cancelled),
            false => Ok(()),
        }
    }
}

/// Trie nodes of a snapshot's head, whose reads by path fail once the bounds are cancelled.
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

/// Wrap an error of a bounded read for the trie, as an error of its node store.
pub(super) fn unreadable(reason: StateError) -> TrieError {
    TrieError::Store(Box::new(reason))
}
