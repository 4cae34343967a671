//! State after a committed block as revm reads it, with uncommitted blocks on top.

use super::caches::code::CodeCache;
use super::delta::LiveSlots;
use super::environment::Snapshot;
use super::layout::account::Account;
use super::layout::tables::Head;
use super::proved::misses::records_miss;
use super::StateError;
use alloy_eips::BlockNumHash;
use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, Bytes, B256, U256};
use revm::bytecode::Bytecode;
use revm::database::states::BundleAccount;
use revm::database::BundleState;
use revm::state::AccountInfo;
use revm::DatabaseRef;
use std::fmt;
use std::rc::Rc;

/// Block that is not committed, as the state after it needs it.
#[derive(Debug, Clone, Copy)]
pub struct Uncommitted<'a> {
    pub hash: B256,
    /// Changes to its parent's state.
    pub changes: &'a BundleState,
}

/// Committed block, and uncommitted blocks on top of it, lowest first.
#[derive(Debug, Clone)]
pub struct StateAfter<'a> {
    pub committed: BlockNumHash,
    pub above: Vec<Uncommitted<'a>>,
}

impl From<BlockNumHash> for StateAfter<'_> {
    fn from(committed: BlockNumHash) -> Self {
        Self { committed, above: Vec::new() }
    }
}

/// State after one committed block, or after uncommitted blocks on top of it.
pub struct HistoryView<'s> {
    codes: &'s CodeCache,
    /// Snapshot shared with other views and tries of the same commit.
    snapshot: Rc<Snapshot<'s>>,
    number: u64,
    above: Vec<Uncommitted<'s>>,
}

impl<'s> HistoryView<'s> {
    /// Return the state after block `number` of a snapshot, with the blocks `above` on top.
    pub(super) fn of(
        snapshot: Rc<Snapshot<'s>>,
        codes: &'s CodeCache,
        number: u64,
        above: Vec<Uncommitted<'s>>,
    ) -> Self {
        Self { codes, snapshot, number, above }
    }

    /// Return the state after another committed block, in the same snapshot; fail with `Reorganised` if it is
    /// not committed there.
    pub fn after(&self, block: BlockNumHash) -> Result<Self, StateError> {
        self.snapshot.require(block)?;
        Ok(Self::of(self.snapshot.clone(), self.codes, block.number, Vec::new()))
    }

    /// Return the number of the committed block, below any uncommitted ones.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Return the committed head in this view's snapshot.
    pub fn head(&self) -> Head {
        self.snapshot.head
    }

    /// Return the account; None if it does not exist.
    pub fn account(&self, address: Address) -> Result<Option<Account>, StateError> {
        match self.changed(&address).next() {
            Some(changed) => Ok(changed.info.as_ref().map(Account::from)),
            None => known_or(self.snapshot.account_at(&address, self.number), None),
        }
    }

    /// Return the slot's value, zero if it was never set.
    pub fn storage(&self, address: Address, slot: U256) -> Result<U256, StateError> {
        match self.changed(&address).find_map(|changed| changed.storage_slot(slot)) {
            Some(value) => Ok(value),
            None => known_or(self.snapshot.storage_at(&address, &slot, self.number), U256::ZERO),
        }
    }

    /// Return the blocks up to the committed one in which nonce, balance or code of an account changed,
    /// `limit` of them at most.
    ///
    /// They are those from `start` on, oldest first, if `is_forward`, else those up to `start`, newest first.
    pub fn changes_of(
        &self,
        address: Address,
        start: u64,
        is_forward: bool,
        limit: usize,
    ) -> Result<Vec<u64>, StateError> {
        self.snapshot.changes_of(&address, start, self.number, is_forward, limit)
    }

    /// Return the addresses of all accounts after the committed block, sorted; uncommitted blocks are left
    /// out.
    pub fn addresses(&self) -> Result<Vec<Address>, StateError> {
        self.snapshot.addresses_at(self.number)
    }

    /// Return all slots of an account with a value other than zero after the committed block; uncommitted
    /// blocks are left out.
    pub fn slots(&self, address: Address) -> Result<HashMap<U256, U256>, StateError> {
        self.snapshot.live_slots_at(&address, self.number)
    }

    /// Call `visit` with each slot, and its value, that is not zero after the committed block, in the order
    /// of the slots; its first error ends the call.
    pub fn each_slot(
        &self,
        address: Address,
        visit: impl FnMut(U256, U256) -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        self.snapshot.require_listed(&address)?;
        self.snapshot.each_live_slot_at(&address, self.number, visit)
    }

    pub fn code(&self, hash: B256) -> Result<Bytes, StateError> {
        match self.new_code(&hash) {
            Some(code) => Ok(code.original_bytes()),
            None => self.snapshot.code(&hash),
        }
    }

    /// Return the account's changes by the uncommitted blocks, those of the last block first.
    fn changed<'v>(
        &'v self,
        address: &'v Address,
    ) -> impl DoubleEndedIterator<Item = &'s BundleAccount> + 'v {
        self.above.iter().rev().filter_map(|block| block.changes.state.get(address))
    }

    fn new_code(&self, hash: &B256) -> Option<&'s Bytecode> {
        self.above.iter().find_map(|block| block.changes.contracts.get(hash))
    }

    /// Return the hash of an uncommitted block, or of one up to the committed head; zero for any other.
    pub fn block_hash(&self, number: u64) -> Result<B256, StateError> {
        let index = number.checked_sub(self.number + 1).and_then(|index| usize::try_from(index).ok());
        match index.and_then(|index| self.above.get(index)) {
            Some(block) => Ok(block.hash),
            None => known_or(block_hash(&self.snapshot, number), B256::ZERO),
        }
    }
}

/// Return the result of a read, or `otherwise` for an unknown value within `collecting_misses`.
pub(super) fn known_or<T>(read: Result<T, StateError>, otherwise: T) -> Result<T, StateError> {
    match read {
        Err(StateError::Unknown(misses)) if records_miss(&misses) => Ok(otherwise),
        read => read,
    }
}

impl LiveSlots for HistoryView<'_> {
    fn live_slots(&self, address: Address) -> Result<HashMap<U256, U256>, StateError> {
        let mut changed = Vec::new();
        let mut is_known = false;
        for account in self.changed(&address) {
            changed.push(account);
            is_known = account.status.is_storage_known();
            if is_known {
                break;
            }
        }
        let mut live = match is_known {
            true => HashMap::default(),
            false => {
                self.snapshot.require_listed(&address)?;
                self.snapshot.live_slots_at(&address, self.number)?
            }
        };
        for account in changed.iter().rev() {
            live.extend(account.storage.iter().map(|(slot, value)| (*slot, value.present_value)));
        }
        live.retain(|_, value| !value.is_zero());
        Ok(live)
    }
}

pub(super) fn block_hash(snapshot: &Snapshot<'_>, number: u64) -> Result<B256, StateError> {
    match (snapshot.block(number)?, &snapshot.base) {
        (Some(block), _) => Ok(block.hash),
        (None, Some(base)) => base.block_hash(number),
        (None, None) => Ok(B256::ZERO),
    }
}

impl DatabaseRef for HistoryView<'_> {
    type Error = StateError;

    fn basic_ref(&self, address: Address) -> Result<Option<AccountInfo>, StateError> {
        Ok(self.account(address)?.map(AccountInfo::from))
    }

    fn code_by_hash_ref(&self, hash: B256) -> Result<Bytecode, StateError> {
        match self.new_code(&hash) {
            Some(code) => Ok(code.clone()),
            None => self.codes.get(hash, || self.snapshot.code(&hash)),
        }
    }

    fn storage_ref(&self, address: Address, slot: U256) -> Result<U256, StateError> {
        self.storage(address, slot)
    }

    fn block_hash_ref(&self, number: u64) -> Result<B256, StateError> {
        self.block_hash(number)
    }
}

impl fmt::Debug for HistoryView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HistoryView").field("number", &self.number).finish_non_exhaustive()
    }
}
