//! Reading what is committed, beside a store that may be busy writing.

use std::fs::File;
use std::sync::Arc;

use alloy_primitives::{Bytes, B256};

use super::caches::code::CodeCache;
use super::environment::Environment;
use super::layout::tables::Head;
use super::proved::{Base, Moments};
use super::view::{HistoryView, StateAfter};
use super::StateError;

/// The committed blocks of a store, for any thread.
#[derive(Debug, Clone)]
pub struct StateReader {
    pub(super) environment: Arc<Environment>,
    pub(super) codes: Arc<CodeCache>,
}

impl StateReader {
    /// The state after a committed block, as long as it is one, or after one that was built on it.
    pub fn at<'a>(&'a self, block: impl Into<StateAfter<'a>>) -> Result<HistoryView<'a>, StateError> {
        HistoryView::new(&self.environment, &self.codes, block.into())
    }

    /// The code with this hash, if any contract ever had it.
    pub fn find_code(&self, hash: B256) -> Result<Option<Bytes>, StateError> {
        match (self.environment.read()?.find_code(&hash)?, self.moments()) {
            (None, Some(moments)) => moments.code(&hash),
            (found, _) => Ok(found),
        }
    }

    /// The state below the first block, where that is another chain's.
    pub fn base(&self) -> Option<&Base> {
        self.environment.base()
    }

    /// The states after each block, where nothing is executed here.
    pub fn moments(&self) -> Option<&Moments> {
        self.environment.moments()
    }

    /// The head as of now in LMDB, whichever process wrote it.
    pub fn committed_head(&self) -> Result<Head, StateError> {
        Ok(self.environment.read()?.head)
    }

    /// The head as of now in LMDB, and the number of the transaction that has committed what is there.
    pub fn committed(&self) -> Result<(usize, Head), StateError> {
        let snapshot = self.environment.read()?;
        Ok((snapshot.txn.id(), snapshot.head))
    }

    /// Write what is committed at some moment of the call to `target`, as a file without free pages.
    pub fn copy(&self, target: &mut File) -> Result<(), StateError> {
        self.environment.copy(target)
    }
}
