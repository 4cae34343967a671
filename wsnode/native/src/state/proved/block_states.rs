//! The states after any of a chain's blocks, none of which was executed here: their roots come from verified headers.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloy_eips::BlockNumHash;
use alloy_primitives::map::B256Map;
use alloy_primitives::{Bytes, B256};

use super::carried::Step;
use super::fork_base::ProvedView;
use super::proof::Proved;
use super::store::ProvedStore;
use crate::state::error::Miss;
use crate::state::layout::tables::Head;
use crate::state::StateError;

/// Roots kept in memory; all are forgotten beyond that, for they are asked for again.
const MOST_ROOTS: usize = 8192;

/// States known by proofs alone, each by its block.
#[derive(Debug)]
pub struct BlockStates {
    store: Arc<ProvedStore>,
    roots: Mutex<B256Map<Head>>,
}

impl BlockStates {
    /// The states of which the store in the folder `path` has what is known.
    pub fn open(path: &Path) -> Result<Self, StateError> {
        Ok(Self { store: ProvedStore::open(path)?, roots: Mutex::default() })
    }

    /// Take note of a block with its state root, which the caller has verified.
    pub fn note(&self, block: Head) {
        let mut roots = self.roots();
        if roots.len() >= MOST_ROOTS {
            roots.clear();
        }
        roots.insert(block.hash, block);
    }

    /// Verify what was fetched of the state with a root, and keep it.
    pub fn keep(&self, state_root: B256, proved: &[Proved]) -> Result<(), StateError> {
        self.store.keep(state_root, proved)
    }

    /// How many of the blocks with these state roots, newest first, lead down to all of `wanted` that is known.
    pub fn depth(&self, roots: &[B256], wanted: &[Miss]) -> Result<usize, StateError> {
        self.store.depth(roots, wanted)
    }

    /// Keep what follows of the state with a root from earlier ones by verified lists, and return what does not.
    pub fn carry(
        &self,
        state_root: B256,
        steps: &[Step<'_>],
        wanted: &[Miss],
    ) -> Result<Vec<Miss>, StateError> {
        self.store.carry(state_root, steps, wanted)
    }

    /// Keep the hashes of blocks before the block `of`, which the caller has verified.
    pub fn keep_hashes(&self, of: B256, hashes: &[(u64, B256)]) -> Result<(), StateError> {
        self.store.keep_hashes(of, hashes)
    }

    /// The state after a block; an error if its root is not known.
    pub(in crate::state) fn view(&self, block: BlockNumHash) -> Result<ProvedView<'_>, StateError> {
        let BlockNumHash { number, hash } = block;
        let known = self.roots().get(&hash).copied();
        match known.filter(|head| head.number == number) {
            Some(head) => ProvedView::after(&self.store, head, true),
            None => Err(StateError::Unknown(vec![Miss::After(number, hash)])),
        }
    }

    /// The code with this hash; an error if it is not known, for a contract may have it nevertheless.
    pub(in crate::state) fn code(&self, hash: &B256) -> Result<Option<Bytes>, StateError> {
        let found = self.store.code_of(hash)?;
        found.map_or(Err(StateError::Unproved("code with this hash")), |code| Ok(Some(code)))
    }

    fn roots(&self) -> MutexGuard<'_, B256Map<Head>> {
        self.roots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
