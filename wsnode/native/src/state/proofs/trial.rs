//! The tries after a committed block, changed in memory only: the state roots of blocks that are not kept.

use crate::state::bounds::{BoundedNodes, Bounds, Taken};
use crate::state::caches::code::CodeCache;
use crate::state::caches::hashes::Hashes;
use crate::state::delta::{AccountDelta, Delta, LiveSlots};
use crate::state::environment::Snapshot;
use crate::state::layout::account::Account;
use crate::state::reader::StateReader;
use crate::state::store::root_of;
use crate::state::view::{HistoryView, StateAfter, Uncommitted};
use crate::state::StateError;
use crate::trie::{StateTries, TrieError};
use alloy_eips::BlockNumHash;
use alloy_primitives::map::HashSet;
use alloy_primitives::{Address, B256, U256};
use revm::database::BundleState;
use std::fmt;
use std::rc::Rc;

/// An account after a change, none if it is gone, and its slots that changed.
#[derive(Debug)]
pub struct ChangedAccount {
    pub address: Address,
    pub account: Option<Account>,
    pub slots: Vec<(U256, U256)>,
}

/// Tries that are never written.
pub struct TrialTries<'s> {
    pub(super) snapshot: Rc<Snapshot<'s>>,
    codes: &'s CodeCache,
    number: u64,
    above: Vec<Uncommitted<'s>>,
    pub(super) tries: StateTries,
    hashes: Hashes,
    _taken: Taken,
}

/// The tries after a committed block.
pub fn tries_at(
    snapshot: &Snapshot<'_>,
    block: BlockNumHash,
    bounds: Bounds<'_>,
) -> Result<(StateTries, Taken), StateError> {
    let expected = root_of(&snapshot.require(block)?);
    let number = block.number;
    let (old, taken) = snapshot.values_at(number, bounds)?;
    let mut tries = StateTries::new(root_of(&snapshot.head));
    let found = tries.apply(&BoundedNodes(snapshot, bounds), Hashes::default().changes(&old))?;
    if found != expected {
        return Err(StateError::RootMismatch { number, expected, found });
    }
    Ok((tries, taken))
}

impl StateReader {
    /// The tries after a block; the older the committed one, the longer: all that changed since is taken back in
    /// memory.
    pub fn trial<'a>(
        &'a self,
        block: impl Into<StateAfter<'a>>,
        bounds: Bounds<'_>,
    ) -> Result<TrialTries<'a>, StateError> {
        let StateAfter { committed, above } = block.into();
        let snapshot = Rc::new(self.environment.read_after(committed)?);
        let (tries, taken) = tries_at(&snapshot, committed, bounds)?;
        let (codes, hashes) = (&*self.codes, Hashes::default());
        let number = committed.number;
        let mut trial =
            TrialTries { snapshot, codes, number, above: Vec::new(), tries, hashes, _taken: taken };
        for block in above {
            bounds.check()?;
            trial.update(&Delta::of(block.changes, &trial.view())?)?;
            trial.above.push(block);
        }
        Ok(trial)
    }
}

impl<'s> TrialTries<'s> {
    /// The state after the block, as of the same commit.
    pub fn view(&self) -> HistoryView<'s> {
        HistoryView::of(self.snapshot.clone(), self.codes, self.number, self.above.clone())
    }

    /// The state root with `changes` on top of all earlier ones. All slots of an account that is gone must be zero.
    pub fn apply(&mut self, changes: impl IntoIterator<Item = ChangedAccount>) -> Result<B256, StateError> {
        let delta = |change: ChangedAccount| AccountDelta {
            address: change.address,
            account: Some(change.account),
            slots: change.slots,
        };
        self.update(&Delta { accounts: changes.into_iter().map(delta).collect(), code: Vec::new() })
    }

    /// The state root of the next block, which changes what `changes` says.
    pub fn next_root(mut self, changes: &BundleState) -> Result<B256, StateError> {
        let delta = Delta::of(changes, &self.view())?;
        self.update(&delta)
    }

    /// Every slot of `address` that was not zero after the block.
    pub fn live_slots(&self, address: Address) -> Result<HashSet<U256>, StateError> {
        Ok(self.view().live_slots(address)?.into_keys().collect())
    }

    fn update(&mut self, delta: &Delta) -> Result<B256, StateError> {
        match self.tries.apply(&*self.snapshot, self.hashes.changes(delta)) {
            // Where a branch loses a child, the root depends on a sibling that no proof needs to show.
            Err(TrieError::Missing(_)) if self.snapshot.is_proved => {
                Err(StateError::Unproved("root of the state that follows"))
            }
            applied => Ok(applied?),
        }
    }
}

impl fmt::Debug for TrialTries<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrialTries").finish_non_exhaustive()
    }
}
