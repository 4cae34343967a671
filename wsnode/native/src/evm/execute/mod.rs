//! Execution of blocks on the state, and the comparison of the results with the blocks' headers.

pub mod access_list;
mod cache;
mod chain;
mod dao;
mod executor;
mod outcome;
mod transactions;

pub use access_list::AccessList;
pub use cache::ReadCache;
pub use chain::{apply, execute, invalid, more_telling, Applied, ChainHead, Execution};
pub use executor::{execute_transaction, executor, Executor};
pub use outcome::{seal_receipts, verify as verify_outcome, verify_receipts};
pub use transactions::{run, set_root, surroundings, words, Executed};

use crate::error::{Error, RuleViolation};

/// Reason why a block was not executed to its end: the block is invalid, or the engine failed.
#[derive(Debug)]
pub enum ExecutionError {
    RuleViolation(RuleViolation),
    Engine(Error),
}

impl From<RuleViolation> for ExecutionError {
    fn from(violation: RuleViolation) -> Self {
        Self::RuleViolation(violation)
    }
}

impl<E: Into<Error>> From<E> for ExecutionError {
    fn from(error: E) -> Self {
        Self::Engine(error.into())
    }
}
