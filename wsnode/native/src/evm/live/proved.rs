//! Proved values of live calls: the unknown ones after a block, and those that differ between two blocks.

use alloy_primitives::map::HashMap;
use alloy_primitives::Address;
use revm::state::AccountInfo;
use revm::DatabaseRef;

use super::keys::{ListId, Place};
use crate::state::{collecting_misses, ChangedKeys, HistoryView, Miss};

/// Return about `most` unknown values of these lists after a block, and the list with which to begin the next
/// time, or None after the last list.
///
/// An account comes before its slots, because most of them are known once its storage root is.
pub fn lacking(
    view: &HistoryView<'_>,
    places: &[(ListId, Vec<Place>)],
    most: usize,
) -> (Vec<Miss>, Option<ListId>) {
    let mut found = Vec::new();
    for (number, places) in places {
        if found.len() >= most {
            return (found, Some(*number));
        }
        found.extend(places.iter().flat_map(|place| lacking_of(view, place)));
    }
    (found, None)
}

fn lacking_of(view: &HistoryView<'_>, (address, slot): &Place) -> Vec<Miss> {
    let (_, misses) = collecting_misses(|| view.basic_ref(*address));
    match slot {
        Some(slot) if misses.is_empty() => collecting_misses(|| view.storage_ref(*address, *slot)).1,
        Some(_) => Vec::new(),
        None => misses,
    }
}

/// Return the accounts and slots whose values differ between two states, or are unknown in one of them.
pub fn differing(
    before: &HistoryView<'_>,
    now: &HistoryView<'_>,
    places: &[(ListId, Vec<Place>)],
) -> Vec<ChangedKeys> {
    let mut found: HashMap<Address, ChangedKeys> = HashMap::default();
    for (address, slot) in places.iter().flat_map(|(_, places)| places) {
        let is_equal = match slot {
            Some(slot) => {
                let value = |view: &HistoryView<'_>| known(|| view.storage_ref(*address, *slot));
                matches!((value(before), value(now)), (Some(one), Some(other)) if one == other)
            }
            None => {
                let account = |view: &HistoryView<'_>| known(|| view.basic_ref(*address)).map(members);
                matches!((account(before), account(now)), (Some(one), Some(other)) if one == other)
            }
        };
        if is_equal {
            continue;
        }
        let (_, is_account, slots) = found.entry(*address).or_insert((*address, false, Vec::new()));
        *is_account |= slot.is_none();
        slots.extend(slot);
    }
    found.into_values().collect()
}

fn known<T, E>(read: impl FnOnce() -> Result<T, E>) -> Option<T> {
    let (value, misses) = collecting_misses(read);
    value.ok().filter(|_| misses.is_empty())
}

fn members(account: Option<AccountInfo>) -> Option<(u64, alloy_primitives::U256, alloy_primitives::B256)> {
    account.map(|account| (account.nonce, account.balance, account.code_hash))
}
