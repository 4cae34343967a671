//! Latest state as revm reads it while it is written, uncommitted blocks included.

use crate::state::delta::LiveSlots;
use crate::state::environment::Snapshot;
use crate::state::layout::account::Account;
use crate::state::layout::keys::LATEST;
use crate::state::store::StateStore;
use crate::state::view::block_hash;
use crate::state::StateError;
use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, B256, U256};
use revm::bytecode::Bytecode;
use revm::state::AccountInfo;
use revm::DatabaseRef;
use std::cell::OnceCell;
use std::fmt;

/// State at the head, sealed blocks included.
pub struct LatestView<'s> {
    store: &'s StateStore,
    /// Snapshot begun by the first read that the overlay cannot answer.
    snapshot: OnceCell<Snapshot<'s>>,
}

impl<'s> LatestView<'s> {
    fn new(store: &'s StateStore) -> Self {
        Self { store, snapshot: OnceCell::new() }
    }

    /// Return the account; None if it does not exist.
    pub fn account(&self, address: Address) -> Result<Option<Account>, StateError> {
        match self.store.overlay.account(&address) {
            Some(account) => Ok(account),
            None => self.snapshot()?.account_at(&address, LATEST),
        }
    }

    /// Return the slot's value, zero if it was never set.
    pub fn storage(&self, address: Address, slot: U256) -> Result<U256, StateError> {
        match self.store.overlay.slot(&address, &slot) {
            Some(value) => Ok(value),
            None => self.snapshot()?.storage_at(&address, &slot, LATEST),
        }
    }

    pub fn code(&self, hash: B256) -> Result<Bytecode, StateError> {
        match self.store.overlay.code(&hash) {
            Some(code) => Ok(code),
            None => self.store.codes.get(hash, || self.snapshot()?.code(&hash)),
        }
    }

    /// Return the hash of a block up to the head; zero beyond it.
    pub fn block_hash(&self, number: u64) -> Result<B256, StateError> {
        match self.store.sealed_block(number) {
            Some(block) => Ok(block.hash),
            None => block_hash(self.snapshot()?, number),
        }
    }

    fn snapshot(&self) -> Result<&Snapshot<'s>, StateError> {
        if self.snapshot.get().is_none() {
            // No other thread can set the `OnceCell` between these lines, because it is not shared between
            // threads.
            let snapshot = self.store.environment.read()?;
            return Ok(self.snapshot.get_or_init(|| snapshot));
        }
        self.snapshot.get().ok_or(StateError::NotInitialised)
    }
}

impl StateStore {
    /// Return the state at the head, sealed blocks included.
    pub fn latest(&self) -> LatestView<'_> {
        LatestView::new(self)
    }
}

impl LiveSlots for LatestView<'_> {
    fn live_slots(&self, address: Address) -> Result<HashMap<U256, U256>, StateError> {
        self.snapshot()?.require_listed(&address)?;
        let mut live = self.snapshot()?.live_slots_at(&address, LATEST)?;
        live.extend(self.store.overlay.slots(&address));
        live.retain(|_, value| !value.is_zero());
        Ok(live)
    }
}

impl DatabaseRef for LatestView<'_> {
    type Error = StateError;

    fn basic_ref(&self, address: Address) -> Result<Option<AccountInfo>, StateError> {
        Ok(self.account(address)?.map(AccountInfo::from))
    }

    fn code_by_hash_ref(&self, hash: B256) -> Result<Bytecode, StateError> {
        self.code(hash)
    }

    fn storage_ref(&self, address: Address, slot: U256) -> Result<U256, StateError> {
        self.storage(address, slot)
    }

    fn block_hash_ref(&self, number: u64) -> Result<B256, StateError> {
        self.block_hash(number)
    }
}

impl fmt::Debug for LatestView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LatestView").finish_non_exhaustive()
    }
}
