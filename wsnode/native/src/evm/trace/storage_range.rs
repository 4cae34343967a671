//! Slots of a contract in the order of their hashes, between two transactions of a block.

use std::collections::BinaryHeap;

use alloy_primitives::{keccak256, Address, B256, U256};
use revm::database::AccountState;
use revm::primitives::StorageKeyMap;

use super::block::Replay;
use crate::engine::{Engine, Rows};
use crate::error::Error;
use crate::evm::call::{Layer, WorkBudget};
use crate::json::traces;
use crate::state::{Bounds, HistoryView, StateError};

#[derive(Debug, Clone, Copy)]
pub struct SlotRange<'a> {
    /// Number of the block's transactions before the state.
    pub transactions: usize,
    pub address: Address,
    /// Lowest hash, or its first bytes.
    pub start: &'a [u8],
    pub count: usize,
}

/// Return the slots, and the hash of the next one, as JSON.
pub fn storage_range(
    engine: &Engine,
    rows: Rows<'_>,
    range: SlotRange<'_>,
    work_budget: &WorkBudget,
    bounds: Bounds<'_>,
) -> Result<Vec<u8>, Error> {
    let mut replay = Replay::new(&engine.spec, &engine.reader, rows, work_budget)?;
    if !replay.skip_to(range.transactions)? {
        return Err(StateError::Cancelled.into());
    }
    let mut found = LeastSlots::new(range);
    match replay.into_layer() {
        Layer::Plain(view) => found.add_stored(&view, &StorageKeyMap::default(), bounds)?,
        Layer::Cached(cache) => match cache.cache.accounts.get(&range.address) {
            None => found.add_stored(&cache.db, &StorageKeyMap::default(), bounds)?,
            Some(account) => {
                account.storage.iter().for_each(|(slot, value)| found.add(*slot, *value));
                let is_gone =
                    matches!(account.account_state, AccountState::NotExisting | AccountState::StorageCleared);
                if !is_gone {
                    found.add_stored(&cache.db, &account.storage, bounds)?;
                }
            }
        },
    }
    Ok(found.write())
}

/// Slots with the lowest hashes among those seen, one more than requested.
struct LeastSlots<'a> {
    range: SlotRange<'a>,
    least: BinaryHeap<(B256, U256, U256)>,
    has_any: bool,
}

impl<'a> LeastSlots<'a> {
    fn new(range: SlotRange<'a>) -> Self {
        Self { range, least: BinaryHeap::new(), has_any: false }
    }

    fn add(&mut self, slot: U256, value: U256) {
        if value.is_zero() {
            return;
        }
        self.has_any = true;
        let hash = keccak256(slot.to_be_bytes::<32>());
        if hash.as_slice() < self.range.start {
            return;
        }
        self.least.push((hash, slot, value));
        if self.least.len() > self.range.count + 1 {
            self.least.pop();
        }
    }

    /// Add the account's slots in `view`, except those in `changed`.
    fn add_stored(
        &mut self,
        view: &HistoryView<'_>,
        changed: &StorageKeyMap<U256>,
        bounds: Bounds<'_>,
    ) -> Result<(), StateError> {
        view.each_slot(self.range.address, |slot, value| {
            if !changed.contains_key(&slot) {
                self.add(slot, value);
            }
            bounds.check()
        })
    }

    fn write(self) -> Vec<u8> {
        if !self.has_any {
            return b"{\"storage\":null,\"nextKey\":null}".to_vec();
        }
        let mut slots = self.least.into_sorted_vec();
        let next = if slots.len() > self.range.count { slots.pop() } else { None };
        let mut out = b"{\"storage\":".to_vec();
        traces::object(&mut out, slots, |out, (hash, slot, value)| {
            traces::data(out, hash.as_slice());
            out.extend_from_slice(b":{\"key\":");
            traces::data(out, &slot.to_be_bytes::<32>());
            out.extend_from_slice(b",\"value\":");
            traces::data(out, &value.to_be_bytes::<32>());
            out.push(b'}');
        });
        out.extend_from_slice(b",\"nextKey\":");
        match next {
            Some((hash, ..)) => traces::data(&mut out, hash.as_slice()),
            None => out.extend_from_slice(b"null"),
        }
        out.push(b'}');
        out
    }
}
