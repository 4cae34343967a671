//! Reads of committed blocks, beside a store that may be writing.

use std::sync::Arc;

use alloy_eips::BlockNumHash;
use alloy_primitives::{Bytes, B256};

use super::caches::code::CodeCache;
use super::environment::{Environment, PinnedCommit, Snapshot};
use super::layout::tables::Head;
use super::proved::{BlockStates, ForkBase};
use super::view::{HistoryView, StateAfter};
use super::StateError;

/// Reader of a store's committed blocks, for any thread.
#[derive(Debug, Clone)]
pub struct StateReader {
    pub(super) environment: Arc<Environment>,
    pub(super) codes: Arc<CodeCache>,
    /// Commit that all reads see; None if each read sees the last commit of its time.
    pinned: Option<Arc<PinnedCommit>>,
}

impl StateReader {
    pub(super) fn new(environment: Arc<Environment>, codes: Arc<CodeCache>) -> Self {
        Self { environment, codes, pinned: None }
    }

    /// Return a reader whose reads, one after another, all see the last commit of this moment.
    ///
    /// It keeps LMDB from reusing pages, and the map is not enlarged before it is dropped.
    pub fn pin(&self) -> Result<Self, StateError> {
        let pinned = Arc::new(self.environment.pin()?);
        Ok(Self { pinned: Some(pinned), ..self.clone() })
    }

    /// Return a snapshot of the last commit, or of the pinned one.
    pub(super) fn read(&self) -> Result<Snapshot<'_>, StateError> {
        match &self.pinned {
            Some(pinned) => self.environment.read_at(pinned),
            None => self.environment.read(),
        }
    }

    /// Return a snapshot for reads of the state after `block`; fail with `Reorganised` if it is not
    /// committed.
    pub(super) fn read_after(&self, block: BlockNumHash) -> Result<Snapshot<'_>, StateError> {
        self.environment.after(self.read()?, block)
    }

    /// Return the state after a committed block, or after uncommitted blocks on top of it; fail with
    /// `Reorganised` if the block is not committed any more.
    pub fn at<'a>(&'a self, block: impl Into<StateAfter<'a>>) -> Result<HistoryView<'a>, StateError> {
        let StateAfter { committed, above } = block.into();
        let snapshot = self.read_after(committed)?;
        Ok(HistoryView::of(snapshot.into(), &self.codes, committed.number, above))
    }

    /// Return the code with this hash, or None if it is not stored; fail with `Unproved` where only proved
    /// code is known.
    pub fn find_code(&self, hash: B256) -> Result<Option<Bytes>, StateError> {
        match (self.read()?.find_code(&hash)?, self.block_states()) {
            (None, Some(block_states)) => block_states.code(&hash),
            (found, _) => Ok(found),
        }
    }

    /// Return the state below the first block, if the first block is another chain's.
    pub fn base(&self) -> Option<&ForkBase> {
        self.environment.base()
    }

    /// Return the proved states of single blocks; None if this node executes the chain's blocks.
    pub fn block_states(&self) -> Option<&BlockStates> {
        self.environment.block_states()
    }

    /// Return the last committed head, whichever process wrote it; for a pinned reader, the pinned one.
    pub fn committed_head(&self) -> Result<Head, StateError> {
        Ok(self.read()?.head)
    }
}
