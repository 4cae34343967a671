//! Values on which the outcome of a run depends. The outcome stays the same while none of them changes.

use alloy_primitives::map::HashSet;
use alloy_primitives::{Address, B256, U256};

/// Value of the state or of a block that a run has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Read {
    Slot(Address, U256),
    /// Code of an account by its hash; the hash of empty code if there is no account.
    Code(Address, B256),
    /// Nonce of an account; 0 if there is no account.
    Nonce(Address, u64),
    /// Nonce, balance, existence and code of an account.
    Account(Address),
    /// Members of a block that differ in each block, and the hashes of its ancestors.
    Block,
    GasLimit,
    Coinbase,
    BaseFee,
}

/// Values that one run has read, within a bound.
#[derive(Debug)]
pub struct Reads {
    found: HashSet<Read>,
    most: usize,
    is_over: bool,
}

impl Reads {
    pub fn new(most: usize) -> Self {
        Self { found: HashSet::default(), most, is_over: false }
    }

    pub fn note(&mut self, read: Read) {
        if !self.is_over && self.found.insert(read) && self.found.len() > self.most {
            self.give_up();
        }
    }

    /// Count the run as one that depends on every value.
    pub fn give_up(&mut self) {
        self.is_over = true;
        self.found.clear();
    }

    /// Return the values in ascending order, or None if there are more than the bound.
    pub fn finish(self) -> Option<Vec<Read>> {
        let mut found: Vec<_> = self.found.into_iter().collect();
        found.sort_unstable();
        (!self.is_over).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_reads_more_than_the_bound_depends_on_everything() {
        let slot = |number: u64| Read::Slot(Address::ZERO, U256::from(number));
        let reads_of = |count: u64| {
            let mut reads = Reads::new(3);
            (0..count).chain(0..count).for_each(|number| reads.note(slot(number)));
            reads.finish()
        };
        assert_eq!(reads_of(3), Some(vec![slot(0), slot(1), slot(2)]));
        assert_eq!(reads_of(4), None);
    }
}
