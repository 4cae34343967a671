//! Cache of accounts and slots that recent blocks read or wrote.

use std::collections::hash_map;

use revm::database::{AccountStatus, BundleState, CacheState};
use revm::primitives::Address;

/// Bound of accounts and slots, about 100 MB. Beyond it the whole cache is cleared.
const MAXIMUM_ENTRIES: usize = 500_000;

/// Values after the newest of several consecutive blocks.
#[derive(Debug, Default)]
pub struct ReadCache(CacheState);

impl ReadCache {
    /// Take the values out of the cache for the execution of a block.
    pub fn take(&mut self) -> CacheState {
        std::mem::take(&mut self.0)
    }

    /// Put the values back after a block whose `changes` are in the state.
    pub fn put(&mut self, mut cache: CacheState, changes: &BundleState) {
        changes.state.keys().for_each(|address| settle(&mut cache, address));
        self.0 = cache;
    }

    /// Clear the cache. The caller does this when the state changes otherwise.
    pub fn clear(&mut self) {
        self.0 = CacheState::default();
    }

    /// Clear the cache if it has more than `MAXIMUM_ENTRIES`.
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

/// Reset the status of an account that a block changed. Otherwise the next block's changes would contain this
/// block's, and each would destroy again an account that was once destroyed.
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
