//! Values missing in a state known by proofs alone, and runs that go on without them to find more.

use std::cell::RefCell;

use crate::state::error::Miss;
use alloy_primitives::map::HashSet;

/// Maximum number of values that a run may lack before it ends: later steps would follow from too many wrong
/// values.
const MAX_MISSES: usize = 1024;

thread_local! {
    /// Values lacked so far by the run of this thread; None outside `collecting_misses`.
    static MISSES: RefCell<Option<HashSet<Miss>>> = const { RefCell::new(None) };
}

/// Guard that restores the previous value of `MISSES`, in a panic too.
struct RestoreMisses(Option<HashSet<Miss>>);

impl Drop for RestoreMisses {
    fn drop(&mut self) {
        MISSES.set(self.0.take());
    }
}

/// Run `work` with unknown values read as empty, and return its result and all unknown values.
///
/// The result is wrong unless no value was unknown. `work` must write nothing.
pub fn collecting_misses<T>(work: impl FnOnce() -> T) -> (T, Vec<Miss>) {
    let _before = RestoreMisses(MISSES.replace(Some(HashSet::default())));
    let done = work();
    let found = MISSES.take().unwrap_or_default();
    (done, found.into_iter().collect())
}

/// Record unknown values and return true if the run of this thread goes on without them; its result is wrong
/// then.
pub(in crate::state) fn records_miss(misses: &[Miss]) -> bool {
    MISSES.with_borrow_mut(|found| match found {
        Some(found) if found.len() + misses.len() <= MAX_MISSES => {
            found.extend(misses);
            true
        }
        _ => false,
    })
}
