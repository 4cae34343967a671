//! The tries after a committed block, changed in memory only: the state roots of blocks that nobody keeps.

use super::account::Account;
use super::delta::{AccountDelta, Delta};
use super::environment::Snapshot;
use super::hashes::Hashes;
use super::proof::tries_at;
use super::reader::StateReader;
use super::StateError;
use crate::trie::StateTries;
use alloy_eips::BlockNumHash;
use alloy_primitives::map::HashSet;
use alloy_primitives::{Address, B256, U256};
use std::fmt;

/// An account after a change, none if it is gone, and its slots that changed.
#[derive(Debug)]
pub struct ChangedAccount {
    pub address: Address,
    pub account: Option<Account>,
    pub slots: Vec<(U256, U256)>,
}

/// Tries that are never written.
pub struct TrialTries<'s> {
    snapshot: Snapshot<'s>,
    tries: StateTries,
    hashes: Hashes,
    /// What of the latest values differed after the block.
    old: Delta,
}

impl StateReader {
    /// The tries after a committed block; as for proofs, the older the block, the longer it takes.
    pub fn trial(&self, block: BlockNumHash) -> Result<TrialTries<'_>, StateError> {
        let snapshot = self.environment.read()?;
        let (tries, old) = tries_at(&snapshot, block)?;
        Ok(TrialTries { snapshot, tries, hashes: Hashes::default(), old })
    }
}

impl TrialTries<'_> {
    /// The state root with `changes` on top of all earlier ones. All slots of an account that is gone must be zero.
    pub fn apply(&mut self, changes: impl IntoIterator<Item = ChangedAccount>) -> Result<B256, StateError> {
        let delta = |change: ChangedAccount| AccountDelta {
            address: change.address,
            account: Some(change.account),
            slots: change.slots,
        };
        let delta = Delta { accounts: changes.into_iter().map(delta).collect(), code: Vec::new() };
        Ok(self.tries.apply(&self.snapshot, self.hashes.changes(&delta))?)
    }

    /// Every slot of `address` that may not have been zero after the block.
    pub fn live_slots(&self, address: Address) -> Result<HashSet<U256>, StateError> {
        let mut slots: HashSet<U256> = self.snapshot.live_slots(&address)?.into_keys().collect();
        let old = self.old.accounts.iter().filter(|account| account.address == address);
        slots.extend(old.flat_map(|account| account.slots.iter().map(|(slot, _)| *slot)));
        Ok(slots)
    }
}

impl fmt::Debug for TrialTries<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrialTries").finish_non_exhaustive()
    }
}
