//! What a read finds unknown of a state that is known by proofs alone, and how a run goes on to find more of it.

use std::cell::RefCell;

use crate::state::error::Lack;
use alloy_primitives::map::HashSet;

/// A run that lacks more than this is not gone on with: its next steps follow from too many wrong values.
const MOST: usize = 1024;

thread_local! {
    /// What the run of this thread lacked so far, if it is one that goes on.
    static FOUND: RefCell<Option<HashSet<Lack>>> = const { RefCell::new(None) };
}

/// Puts back what was there before, in a panic too.
struct Restored(Option<HashSet<Lack>>);

impl Drop for Restored {
    fn drop(&mut self) {
        FOUND.set(self.0.take());
    }
}

/// What `work` returns, whose reads take what is unknown for empty, and all that was unknown: unless that is nothing,
/// the result is void.
///
/// `work` must write nothing.
pub fn gathering<T>(work: impl FnOnce() -> T) -> (T, Vec<Lack>) {
    let _before = Restored(FOUND.replace(Some(HashSet::default())));
    let done = work();
    let found = FOUND.take().unwrap_or_default();
    (done, found.into_iter().collect())
}

/// Whether the run of this thread goes on without these values; it will be void.
pub(in crate::state) fn goes_on_without(lacks: &[Lack]) -> bool {
    FOUND.with_borrow_mut(|found| match found {
        Some(found) if found.len() + lacks.len() <= MOST => {
            found.extend(lacks);
            true
        }
        _ => false,
    })
}
