//! Accounts and slots read or written by recent blocks, so that the next block need not read them again.

use std::collections::hash_map;

use revm::database::{AccountStatus, BundleState, CacheState};
use revm::primitives::Address;

/// More than this many accounts or slots are forgotten at once: about 100 MB.
const MAXIMUM_ENTRIES: usize = 500_000;

/// What blocks in a row share; holds the values after the newest of them.
#[derive(Debug, Default)]
pub struct ReadCache(CacheState);

impl ReadCache {
    /// Take the values out, to execute a block on.
    pub fn take(&mut self) -> CacheState {
        std::mem::take(&mut self.0)
    }

    /// Put them back after a block whose `changes` the state now holds.
    pub fn put(&mut self, mut cache: CacheState, changes: &BundleState) {
        changes.state.keys().for_each(|address| settle(&mut cache, address));
        self.0 = cache;
    }

    /// Forget everything: the state went elsewhere.
    pub fn clear(&mut self) {
        self.0 = CacheState::default();
    }

    /// Forget everything if it is too much.
    pub fn trim(&mut self) {
        let slots = |account: &revm::database::states::CacheAccount| {
            account.account.as_ref().map_or(0, |account| account.storage.len())
        };
        let entries: usize = self.0.accounts.values().map(|account| 1 + slots(account)).sum();
        if entries > MAXIMUM_ENTRIES {
            self.clear();
        }
    }
}

/// Forget that a block changed an account: the next block's changes would otherwise build on that block's, and an account
/// once destroyed would be destroyed again by each.
fn settle(cache: &mut CacheState, address: &Address) {
    if let hash_map::Entry::Occupied(mut entry) = cache.accounts.entry(*address) {
        let account = entry.get_mut();
        account.status = match &account.account {
            None => AccountStatus::LoadedNotExisting,
            Some(account) if account.info.is_empty() => AccountStatus::LoadedEmptyEIP161,
            Some(_) => AccountStatus::Loaded,
        };
    }
}
