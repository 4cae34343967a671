//! Tries after a block, changed in memory only, for state roots of blocks that are not kept.

use crate::state::bounds::{BoundedNodes, Bounds, Taken};
use crate::state::caches::code::CodeCache;
use crate::state::caches::hashes::Hashes;
use crate::state::delta::{AccountDelta, Delta};
use crate::state::environment::Snapshot;
use crate::state::layout::account::Account;
use crate::state::reader::StateReader;
use crate::state::store::root_of;
use crate::state::view::{known_or, HistoryView, StateAfter, Uncommitted};
use crate::state::StateError;
use crate::trie::{AccountChange, StateTries, TrieError};
use alloy_eips::BlockNumHash;
use alloy_primitives::{Address, B256, U256};
use revm::database::BundleState;
use std::fmt;
use std::rc::Rc;

/// Account after a change, None if it is removed, and its changed slots.
#[derive(Debug)]
pub struct ChangedAccount {
    pub address: Address,
    pub account: Option<Account>,
    /// True if every slot not listed in `slots` becomes zero.
    pub is_emptied: bool,
    pub slots: Vec<(U256, U256)>,
}

/// Tries after a block, changed in memory and never written.
pub struct TrialTries<'s> {
    pub(super) snapshot: Rc<Snapshot<'s>>,
    codes: &'s CodeCache,
    number: u64,
    above: Vec<Uncommitted<'s>>,
    pub(super) tries: StateTries,
    hashes: Hashes,
    _taken: Taken,
}

/// Return the tries after a committed block, and the reservation of memory for rewinding to it.
///
/// Fail with `RootMismatch` if their root is not the block's.
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
    /// Return the tries after a block, in memory. The stored changes after the block are undone first, so the
    /// time grows with their number. Nothing is written.
    pub fn trial<'a>(
        &'a self,
        block: impl Into<StateAfter<'a>>,
        bounds: Bounds<'_>,
    ) -> Result<TrialTries<'a>, StateError> {
        let StateAfter { committed, above } = block.into();
        let snapshot = Rc::new(self.read_after(committed)?);
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
    /// Return the state after the block, in the same snapshot; changes made by `apply` are left out.
    pub fn view(&self) -> HistoryView<'s> {
        HistoryView::of(self.snapshot.clone(), self.codes, self.number, self.above.clone())
    }

    /// Return the state root after `changes` on top of all earlier ones; an account that is removed must be
    /// emptied.
    pub fn apply(&mut self, changes: impl IntoIterator<Item = ChangedAccount>) -> Result<B256, StateError> {
        let changes: Vec<_> = changes.into_iter().collect();
        // No node of an emptied storage trie is read, so its slots need no proofs.
        let slots = |change: &ChangedAccount| if change.is_emptied { 0 } else { change.slots.len() };
        let values = changes.iter().map(|change| (change.address, &change.slots[..slots(change)]));
        require_nodes(&self.snapshot, values)?;
        let hashes = &mut self.hashes;
        let hashed = changes.into_iter().map(|change| {
            let ChangedAccount { address, account, is_emptied, slots } = change;
            let delta = AccountDelta { address, account: Some(account), slots };
            AccountChange { is_emptied, ..hashes.change(&delta) }
        });
        moved(&self.snapshot, self.tries.apply(&*self.snapshot, hashed))
    }

    /// Return the state root after `changes` of the next block.
    pub fn next_root(mut self, changes: &BundleState) -> Result<B256, StateError> {
        let delta = Delta::of(changes, &self.view())?;
        self.update(&delta)
    }

    fn update(&mut self, delta: &Delta) -> Result<B256, StateError> {
        let values = delta.accounts.iter().map(|change| (change.address, change.slots.as_slice()));
        require_nodes(&self.snapshot, values)?;
        moved(&self.snapshot, self.tries.apply(&*self.snapshot, self.hashes.changes(delta)))
    }
}

/// Check that the changed accounts and slots have proofs, if the state is known by proofs alone; else fail
/// with `Unknown`.
fn require_nodes<'c>(
    snapshot: &Snapshot<'_>,
    changes: impl Iterator<Item = (Address, &'c [(U256, U256)])>,
) -> Result<(), StateError> {
    if !snapshot.is_proved {
        return Ok(());
    }
    let values: Vec<_> =
        changes.map(|(address, slots)| (address, slots.iter().map(|(slot, _)| *slot).collect())).collect();
    // Within `collecting_misses` the run continues, because it may find further unknown values by the known
    // nodes.
    known_or(snapshot.require_nodes(&values), ())
}

/// Return the root of changed tries.
///
/// For a proved state a missing node becomes the error `Unproved`.
fn moved(snapshot: &Snapshot<'_>, applied: Result<B256, TrieError>) -> Result<B256, StateError> {
    match applied {
        // If a branch loses a child, the root depends on the child's sibling, which no proof needs to
        // contain.
        Err(TrieError::Missing(_)) if snapshot.is_proved => {
            Err(StateError::Unproved("root of the state that follows"))
        }
        applied => Ok(applied?),
    }
}

impl fmt::Debug for TrialTries<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrialTries").finish_non_exhaustive()
    }
}
