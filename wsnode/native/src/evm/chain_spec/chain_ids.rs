//! Chain ids. A development chain may change its id from some block on.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

#[derive(Debug)]
pub struct ChainIds {
    first: u64,
    /// First block of each later id, and the id, ascending.
    changes: RwLock<Vec<(u64, u64)>>,
}

impl ChainIds {
    pub fn new(first: u64) -> Self {
        Self { first, changes: RwLock::default() }
    }

    /// Return the chain id of the next block. Calls use it on every block.
    pub fn current(&self) -> u64 {
        self.changes().last().map_or(self.first, |change| change.1)
    }

    /// Return the chain id in force at a block number.
    pub fn at(&self, number: u64) -> u64 {
        let changes = self.changes();
        let begun = changes.partition_point(|change| change.0 <= number);
        begun.checked_sub(1).map_or(self.first, |last| changes[last].1)
    }

    pub fn set_changes(&self, changes: Vec<(u64, u64)>) {
        debug_assert!(changes.is_sorted_by_key(|change| change.0));
        *self.changes.write().unwrap_or_else(PoisonError::into_inner) = changes;
    }

    fn changes(&self) -> RwLockReadGuard<'_, Vec<(u64, u64)>> {
        self.changes.read().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_the_id_of_the_last_change_up_to_it() {
        let ids = ChainIds::new(1);
        assert_eq!((ids.current(), ids.at(0), ids.at(u64::MAX)), (1, 1, 1));
        ids.set_changes(vec![(3, 7), (5, 9)]);
        assert_eq!([0, 2, 3, 4, 5, u64::MAX].map(|number| ids.at(number)), [1, 1, 7, 7, 9, 9]);
        assert_eq!(ids.current(), 9);
        ids.set_changes(vec![]);
        assert_eq!((ids.current(), ids.at(3)), (1, 1));
    }
}
