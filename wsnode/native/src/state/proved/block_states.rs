//! States after any block of a chain that is not executed here; their roots come from verified headers.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloy_eips::BlockNumHash;
use alloy_primitives::map::B256Map;
use alloy_primitives::{Bytes, B256};

use super::carried::BlockStep;
use super::fork_base::ProvedView;
use super::proof::Proved;
use super::store::ProvedStore;
use crate::state::error::Miss;
use crate::state::layout::tables::Head;
use crate::state::StateError;

/// Maximum number of roots kept in memory; beyond it all are dropped, and noted again when they are needed.
const MAX_ROOTS: usize = 8192;

/// States known by proofs alone, by block.
#[derive(Debug)]
pub struct BlockStates {
    store: Arc<ProvedStore>,
    roots: Mutex<B256Map<Head>>,
}

impl BlockStates {
    /// Open the states whose known values are stored in the folder `path`.
    pub fn open(path: &Path) -> Result<Self, StateError> {
        Ok(Self { store: ProvedStore::open(path)?, roots: Mutex::default() })
    }

    /// Take note of a block and its state root, verified by the caller.
    pub fn note(&self, block: Head) {
        let mut roots = self.roots();
        if roots.len() >= MAX_ROOTS {
            roots.clear();
        }
        roots.insert(block.hash, block);
    }

    /// Verify fetched values of the state with `state_root` and keep them.
    pub fn keep(&self, state_root: B256, proved: &[Proved]) -> Result<(), StateError> {
        self.store.keep(state_root, proved)
    }

    /// Return how many of `roots`, state roots from the newest block down, reach a block with a known value
    /// for each of `wanted`; values known at none of them do not count.
    pub fn depth(&self, roots: &[B256], wanted: &[Miss]) -> Result<usize, StateError> {
        self.store.depth(roots, wanted)
    }

    /// Keep the values of the state with `state_root` that follow from earlier ones by verified access lists;
    /// return the rest of `wanted`.
    pub fn carry(
        &self,
        state_root: B256,
        steps: &[BlockStep<'_>],
        wanted: &[Miss],
    ) -> Result<Vec<Miss>, StateError> {
        self.store.carry(state_root, steps, wanted)
    }

    /// Keep the hashes of ancestors of the block `of`, verified by the caller, each with its number.
    pub fn keep_hashes(&self, of: B256, hashes: &[(u64, B256)]) -> Result<(), StateError> {
        self.store.keep_hashes(of, hashes)
    }

    /// Return the state after a block; fail with `Unknown` if its state root was not noted.
    pub(in crate::state) fn view(&self, block: BlockNumHash) -> Result<ProvedView<'_>, StateError> {
        let BlockNumHash { number, hash } = block;
        let known = self.roots().get(&hash).copied();
        match known.filter(|head| head.number == number) {
            Some(head) => ProvedView::after(&self.store, head, true),
            None => Err(StateError::Unknown(vec![Miss::After(number, hash)])),
        }
    }

    /// Return the code with this hash; fail with `Unproved` if it is not known, because a contract may have
    /// it nevertheless.
    pub(in crate::state) fn code(&self, hash: &B256) -> Result<Option<Bytes>, StateError> {
        let found = self.store.code_of(hash)?;
        found.map_or(Err(StateError::Unproved("code with this hash")), |code| Ok(Some(code)))
    }

    fn roots(&self) -> MutexGuard<'_, B256Map<Head>> {
        self.roots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
