//! Errors of the state store.

use crate::store::{FileError, IntegrityError, StoreError};
use crate::trie::TrieError;
use alloy_primitives::{Address, B256, U256};
use revm::database_interface::DBErrorMarker;

/// Value of a state that was not fetched yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Miss {
    Account(Address),
    Slot(Address, U256),
    BlockHash(u64),
    /// Block, by number and hash, after which the other misses are unknown, if the states of several blocks
    /// can be read; alone: the block's state root is unknown.
    After(u64, B256),
}

/// Reason for which the state cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("state store: {0}")]
    Trie(#[from] TrieError),
    #[error("state store belongs to another chain: genesis {found}, expected {expected}")]
    OtherGenesis { expected: B256, found: B256 },
    #[error("state store holds no state yet")]
    NotInitialised,
    #[error("no state of block {requested}: stored are blocks {earliest} to {latest}")]
    NoHistory { requested: u64, earliest: u64, latest: u64 },
    #[error("block {number} is {}, not {wanted}", found.map_or("not there".into(), |hash| hash.to_string()))]
    Reorganised { number: u64, wanted: B256, found: Option<B256> },
    #[error("state store is corrupt: {0}")]
    Corrupt(String),
    #[error("state root of block {number}: expected {expected}, got {found}")]
    RootMismatch { number: u64, expected: B256, found: B256 },
    #[error("block {since} is too old: more than {limit} bytes of changes since")]
    TooMuchChanged { since: u64, limit: usize },
    #[error("too many old blocks are looked at, try again")]
    TooManyLookBack,
    #[error("more than {limit} bytes")]
    TooMuchFound { limit: usize },
    #[error("cancelled")]
    Cancelled,
    #[error("{} values of the state are not known yet", .0.len())]
    Unknown(Vec<Miss>),
    #[error("of this state only what is asked for is known, and no {0}")]
    Unproved(&'static str),
    #[error("execution touches {address} ({name}), which runs inside ArbOS: wsnode cannot execute it")]
    NotExecuted { address: Address, name: &'static str, kind: &'static str },
    #[error("wrong proof: {0}")]
    WrongProof(String),
    #[error("the slots that {0} had at the first block cannot be listed: only those read are known")]
    Unlisted(Address),
    #[error("the state after block {number} never had the root {root}")]
    UnknownRoot { number: u64, root: B256 },
    #[error("block {found} does not follow the head {head}")]
    NotNext { head: u64, found: u64 },
    #[error("blocks up to {head} are not committed yet")]
    Uncommitted { head: u64 },
}

impl DBErrorMarker for StateError {}

impl From<heed::Error> for StateError {
    fn from(error: heed::Error) -> Self {
        Self::Store(error.into())
    }
}

impl From<FileError> for StateError {
    fn from(error: FileError) -> Self {
        Self::Store(error.into())
    }
}

impl From<IntegrityError> for StateError {
    fn from(error: IntegrityError) -> Self {
        Self::Store(error.into())
    }
}
