//! What a read finds unknown of a state that is known by proofs alone, and how a run goes on to find more of it.

use std::cell::RefCell;

use crate::state::error::Miss;
use alloy_primitives::map::HashSet;

/// A run that lacks more than this is not gone on with: its next steps follow from too many wrong values.
const MAX_MISSES: usize = 1024;

thread_local! {
    /// What the run of this thread lacked so far, if it is one that goes on.
    static MISSES: RefCell<Option<HashSet<Miss>>> = const { RefCell::new(None) };
}

/// Puts back what was there before, in a panic too.
struct RestoreMisses(Option<HashSet<Miss>>);

impl Drop for RestoreMisses {
    fn drop(&mut self) {
        MISSES.set(self.0.take());
    }
}

/// What `work` returns, whose reads take what is unknown for empty, and all that was unknown: unless that is nothing,
/// the result is void.
///
/// `work` must write nothing.
pub fn collecting_misses<T>(work: impl FnOnce() -> T) -> (T, Vec<Miss>) {
    let _before = RestoreMisses(MISSES.replace(Some(HashSet::default())));
    let done = work();
    let found = MISSES.take().unwrap_or_default();
    (done, found.into_iter().collect())
}

/// Whether the run of this thread goes on without these values; it will be void.
pub(in crate::state) fn records_miss(misses: &[Miss]) -> bool {
    MISSES.with_borrow_mut(|found| match found {
        Some(found) if found.len() + misses.len() <= MAX_MISSES => {
            found.extend(misses);
            true
        }
        _ => false,
    })
}
