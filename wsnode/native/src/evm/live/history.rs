//! Changes by the last steps of a chain, abandoned branches included.

use std::collections::VecDeque;

use alloy_primitives::map::{HashMap, HashSet};
use alloy_primitives::{Address, U256};

use crate::state::ChangedKeys;

const MAX_STEPS: usize = 256;
const MAX_BYTES: usize = 4 << 20;
const ACCOUNT_BYTES: usize = 56;
const SLOT_BYTES: usize = 32;

/// Changes by the last steps, each from the state of the step before it.
#[derive(Debug, Default)]
pub struct ChangeHistory {
    /// Number and changes of each step. The first one's changes are not kept.
    steps: VecDeque<(u64, Vec<ChangedKeys>)>,
    bytes: usize,
}

impl ChangeHistory {
    /// Go on to step `last`. Its state differs from that of step `since` in the keys `changed`.
    ///
    /// Return the keys that may differ from the state of the step before; None if all may. If there were
    /// steps after `since`, that state belongs to an abandoned branch. The result then includes the branch's
    /// changes. Without `since` the result is None, and `changed` begins with the state of the step before.
    pub fn extend(
        &mut self,
        last: u64,
        since: Option<u64>,
        changed: Option<Vec<ChangedKeys>>,
    ) -> Option<Vec<ChangedKeys>> {
        let abandoned = since.and_then(|since| self.take_after(since));
        let Some((changed, abandoned)) = changed.clone().zip(abandoned) else {
            *self = Self::default();
            if let (None, Some(changed)) = (since, changed) {
                self.keep(last - 1, Vec::new());
                self.keep(last, changed);
            } else {
                self.keep(last, Vec::new());
            }
            return None;
        };
        let found = merged(abandoned.iter().flatten().chain(&changed));
        self.keep(last, changed);
        Some(found)
    }

    /// Remove the steps after `step` and return their changes, or None if `step` is not kept.
    fn take_after(&mut self, step: u64) -> Option<Vec<Vec<ChangedKeys>>> {
        let place = self.steps.iter().rposition(|(number, _)| *number == step)?;
        let taken: Vec<_> = self.steps.drain(place + 1..).map(|(_, changed)| changed).collect();
        self.bytes -= taken.iter().map(|changed| bytes_of(changed)).sum::<usize>();
        Some(taken)
    }

    fn keep(&mut self, step: u64, changed: Vec<ChangedKeys>) {
        self.bytes += bytes_of(&changed);
        self.steps.push_back((step, changed));
        while self.steps.len() > MAX_STEPS || (self.bytes > MAX_BYTES && self.steps.len() > 1) {
            self.steps.pop_front();
            // The changes of the oldest step begin at the state of a removed step, so they are not needed.
            if let Some((_, changed)) = self.steps.front_mut() {
                self.bytes -= bytes_of(&std::mem::take(changed));
            }
        }
    }
}

fn bytes_of(changed: &[ChangedKeys]) -> usize {
    changed.iter().map(|(_, _, slots)| ACCOUNT_BYTES + SLOT_BYTES * slots.len()).sum()
}

/// Return each account and slot once.
fn merged<'c>(changed: impl Iterator<Item = &'c ChangedKeys>) -> Vec<ChangedKeys> {
    let mut accounts: HashMap<Address, (bool, HashSet<U256>)> = HashMap::default();
    for (address, is_account, slots) in changed {
        let found = accounts.entry(*address).or_default();
        found.0 |= is_account;
        found.1.extend(slots);
    }
    let keys = |(address, (is_account, slots)): (Address, (bool, HashSet<U256>))| {
        (address, is_account, slots.into_iter().collect())
    };
    accounts.into_iter().map(keys).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(slots: &[u64]) -> Vec<ChangedKeys> {
        vec![(Address::ZERO, false, slots.iter().copied().map(U256::from).collect())]
    }

    fn slots(changed: Option<Vec<ChangedKeys>>) -> Option<Vec<u64>> {
        let mut slots: Vec<u64> = changed?.iter().flat_map(|(_, _, slots)| slots).map(U256::to).collect();
        slots.sort_unstable();
        Some(slots)
    }

    #[test]
    fn a_step_from_an_earlier_state_has_what_both_branches_changed() {
        let mut history = ChangeHistory::default();
        assert_eq!(slots(history.extend(1, None, Some(change(&[9])))), None);
        assert_eq!(slots(history.extend(2, Some(1), Some(change(&[1])))), Some(vec![1]));
        assert_eq!(slots(history.extend(3, Some(2), Some(change(&[2])))), Some(vec![2]));
        assert_eq!(slots(history.extend(4, Some(1), Some(change(&[2, 3])))), Some(vec![1, 2, 3]));
        // Steps 2 and 3, an abandoned branch, are no longer kept. The way back from step 4 to the state
        // before step 1 has the changes of steps 4 and 1 only.
        assert_eq!(slots(history.extend(5, Some(0), Some(change(&[])))), Some(vec![2, 3, 9]));
        assert_eq!(slots(history.extend(6, Some(5), Some(change(&[4])))), Some(vec![4]));
    }

    #[test]
    fn a_step_from_a_state_that_is_not_kept_may_have_changed_everything() {
        let mut history = ChangeHistory::default();
        assert_eq!(slots(history.extend(1, None, None)), None);
        assert_eq!(slots(history.extend(2, Some(1), Some(change(&[1])))), Some(vec![1]));
        assert_eq!(slots(history.extend(3, Some(0), Some(change(&[2])))), None);
        assert_eq!(slots(history.extend(4, Some(3), Some(change(&[3])))), Some(vec![3]));
        assert_eq!(slots(history.extend(5, Some(4), None)), None);
        assert_eq!(slots(history.extend(6, Some(4), Some(change(&[4])))), None);
        assert_eq!(slots(history.extend(7, Some(6), Some(change(&[5])))), Some(vec![5]));
        assert_eq!(slots(history.extend(8, None, Some(change(&[6])))), None);
        assert_eq!(slots(history.extend(9, Some(7), Some(change(&[7])))), Some(vec![6, 7]));
        assert_eq!(slots(history.extend(10, Some(6), Some(change(&[7])))), None);
    }

    #[test]
    fn steps_and_their_bytes_are_bounded() {
        let mut history = ChangeHistory::default();
        history.extend(1, None, Some(change(&[1])));
        for step in 2..=2 * MAX_STEPS as u64 {
            assert!(history.extend(step, Some(step - 1), Some(change(&[step]))).is_some());
        }
        assert_eq!(history.steps.len(), MAX_STEPS);
        let large: Vec<u64> = (0..40_000).collect();
        let last = 2 * MAX_STEPS as u64;
        for step in last + 1..last + 9 {
            assert!(history.extend(step, Some(step - 1), Some(change(&large))).is_some());
        }
        assert!(history.bytes <= MAX_BYTES);
        assert!(history.steps.len() > 1);
        assert_eq!(history.bytes, history.steps.iter().map(|(_, changed)| bytes_of(changed)).sum::<usize>());
        let whole: Vec<u64> = (0..200_000).collect();
        assert!(history.extend(last + 9, Some(last + 8), Some(change(&whole))).is_some());
        assert_eq!((history.steps.len(), history.bytes), (1, 0));
    }
}
