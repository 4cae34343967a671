//! Reading what is committed, beside a store that may be busy writing.

use std::fs::File;
use std::sync::Arc;

use alloy_eips::BlockNumHash;
use alloy_primitives::{Bytes, B256};

use super::caches::code::CodeCache;
use super::environment::{Environment, Pinned, Snapshot};
use super::layout::tables::Head;
use super::proved::{BlockStates, ForkBase};
use super::view::{HistoryView, StateAfter};
use super::StateError;
use crate::store::StoreError;

/// The committed blocks of a store, for any thread.
#[derive(Debug, Clone)]
pub struct StateReader {
    pub(super) environment: Arc<Environment>,
    pub(super) codes: Arc<CodeCache>,
    /// The commit that all reads see; None for the last one of each time.
    pinned: Option<Arc<Pinned>>,
}

impl StateReader {
    pub(super) fn new(environment: Arc<Environment>, codes: Arc<CodeCache>) -> Self {
        Self { environment, codes, pinned: None }
    }

    /// A reader whose reads, one after another, all see the last commit of now.
    ///
    /// It keeps pages from being used again, and a larger map waits for it.
    pub fn pin(&self) -> Result<Self, StateError> {
        let pinned = Arc::new(self.environment.pin()?);
        Ok(Self { pinned: Some(pinned), ..self.clone() })
    }

    /// The store as of the last commit, or of the pinned one.
    pub(super) fn read(&self) -> Result<Snapshot<'_>, StateError> {
        match &self.pinned {
            Some(pinned) => self.environment.read_at(pinned),
            None => self.environment.read(),
        }
    }

    /// The same for reading the state after a block, which it must have.
    pub(super) fn read_after(&self, block: BlockNumHash) -> Result<Snapshot<'_>, StateError> {
        self.environment.after(self.read()?, block)
    }

    /// The state after a committed block, as long as it is one, or after one that was built on it.
    pub fn at<'a>(&'a self, block: impl Into<StateAfter<'a>>) -> Result<HistoryView<'a>, StateError> {
        let StateAfter { committed, above } = block.into();
        let snapshot = self.read_after(committed)?;
        Ok(HistoryView::of(snapshot.into(), &self.codes, committed.number, above))
    }

    /// The code with this hash, if any contract ever had it.
    pub fn find_code(&self, hash: B256) -> Result<Option<Bytes>, StateError> {
        match (self.read()?.find_code(&hash)?, self.block_states()) {
            (None, Some(block_states)) => block_states.code(&hash),
            (found, _) => Ok(found),
        }
    }

    /// The state below the first block, where that is another chain's.
    pub fn base(&self) -> Option<&ForkBase> {
        self.environment.base()
    }

    /// The states after each block, where nothing is executed here.
    pub fn block_states(&self) -> Option<&BlockStates> {
        self.environment.block_states()
    }

    /// The head as of now in LMDB, whichever process wrote it.
    pub fn committed_head(&self) -> Result<Head, StateError> {
        Ok(self.read()?.head)
    }

    /// The head as of now in LMDB, and the number of the transaction that has committed what is there.
    pub fn committed(&self) -> Result<(usize, Head), StateError> {
        let snapshot = self.read()?;
        Ok((snapshot.txn.id(), snapshot.head))
    }

    /// Return if the file is where it was opened, and is open again after a failed write, or may soon be.
    pub fn require_usable(&self) -> Result<(), StoreError> {
        self.environment.require_usable()
    }

    /// Return if no read has met a damaged row since the file was opened.
    pub fn require_undamaged(&self) -> Result<(), StoreError> {
        self.environment.require_undamaged()
    }

    /// How often a read has met a damaged row since the file was opened.
    pub fn damaged(&self) -> u64 {
        self.environment.damaged()
    }

    /// Write what is committed at some moment of the call to `target`, as a file without free pages.
    pub fn copy(&self, target: &mut File) -> Result<(), StateError> {
        self.environment.copy(target)
    }
}
