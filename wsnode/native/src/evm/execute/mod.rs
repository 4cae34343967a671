//! Execution of blocks on the state, and the comparison of what came out with what their headers say.

mod cache;
mod chain;
mod dao;
mod executor;
mod outcome;
mod transactions;

pub use cache::ReadCache;
pub use chain::{apply, execute, invalid, more_telling, Applied, ChainHead, Execution};
pub use executor::{execute_transaction, executor, Executor};
pub use outcome::{seal_receipts, verify as verify_outcome, verify_receipts, Sealed};
pub use transactions::{run, set_root, surroundings, words, Executed};

use crate::error::{Broken, Error};

/// The reason why a block was not executed to its end: the block is invalid, or the engine failed.
#[derive(Debug)]
pub enum Fault {
    Broken(Broken),
    Engine(Error),
}

impl From<Broken> for Fault {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

impl<E: Into<Error>> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::Engine(error.into())
    }
}
