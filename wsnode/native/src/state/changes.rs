//! Rows of `changes`: the accounts and slots changed by the blocks of one commit, under the number of its
//! last block. They serve unwinding and proofs at older blocks.
//!
//! Undoing a list may write back a value that did not change. So one list serves many blocks, and a bulk
//! import, which changes the same values over and over, names each once. A list is a sequence of: address,
//! twice the number of slots plus one if the account itself changed (LEB128), slots (32 bytes each). It is
//! cut into parts because a longer row would fill whole pages of its own.

use super::bounds::{Bounds, Taken};
use super::delta::{Delta, TouchedState};
use super::environment::Snapshot;
use super::layout::keys::{changes_key, LATEST};
use super::StateError;
use alloy_primitives::{Address, U256};
use std::sync::Arc;

/// Bytes of one part of a list; three parts fill a page.
const PART: usize = 1330;

/// Encode the changed accounts and slots as one list, not yet cut into parts.
pub(super) fn encode(changed: &TouchedState) -> Vec<u8> {
    let mut list = Vec::new();
    for (address, touched) in &changed.0 {
        list.extend_from_slice(address.as_slice());
        let mut count = (touched.slots.len() << 1) | usize::from(touched.account);
        while count >= 0x80 {
            list.push(count as u8 | 0x80);
            count >>= 7;
        }
        list.push(count as u8);
        touched.slots.iter().for_each(|slot| list.extend_from_slice(&slot.to_be_bytes::<32>()));
    }
    list
}

/// Add the accounts and slots of `list` to `changed`; return None if the list is malformed.
fn decode(list: &[u8], changed: &mut TouchedState) -> Option<()> {
    let mut rest = list;
    while !rest.is_empty() {
        let (address, after) = rest.split_at_checked(20)?;
        let length = after.iter().position(|byte| byte & 0x80 == 0)? + 1;
        let (count, after) = after.split_at(length);
        let seven_bits = |count: usize, byte: &u8| (count << 7) | usize::from(byte & 0x7f);
        let count = count.iter().rev().fold(0, seven_bits);
        let (slots, after) = after.split_at_checked((count >> 1).checked_mul(32)?)?;
        let touched = changed.0.entry(Address::from_slice(address)).or_default();
        touched.account |= count & 1 == 1;
        touched.slots.extend(slots.chunks_exact(32).map(U256::from_be_slice));
        rest = after;
    }
    Some(())
}

/// Cut the list that ends with block `number` into rows, each with its key.
pub(super) fn parts(number: u64, list: &[u8]) -> impl Iterator<Item = ([u8; 12], &[u8])> {
    (0u32..).zip(list.chunks(PART)).map(move |(part, row)| (changes_key(number, part), row))
}

/// Number of a list's last block, and the list's bytes.
type ChangeList = (u64, Vec<u8>);

/// Change list that ends below every block still kept, with the values not yet pruned.
#[derive(Debug, Clone)]
pub(super) struct Outdated {
    /// Number of the list's last block.
    pub(super) last: u64,
    /// Accounts (None) and slots of accounts, sorted.
    pub(super) values: Arc<[(Address, Option<U256>)]>,
    /// Number of them, from the first on, whose older versions are still to be dropped.
    pub(super) left: usize,
}

impl Snapshot<'_> {
    /// Return the number of the last block of the oldest list of changes, and all its accounts and slots; None
    /// without lists, or if the list ends above block `number`.
    pub(super) fn outdated(&self, number: u64) -> Result<Option<Outdated>, StateError> {
        let oldest = self.tables.changes.first(&self.txn)?;
        let last = oldest.and_then(|(key, _)| key.first_chunk()).map(|last| u64::from_be_bytes(*last));
        let Some(last) = last.filter(|last| *last <= number) else { return Ok(None) };
        let mut values = Vec::new();
        for (address, touched) in merged(&self.list(last)?)?.0 {
            values.extend(touched.account.then_some((address, None)));
            values.extend(touched.slots.iter().map(|slot| (address, Some(*slot))));
        }
        // In key order, neighbouring values are on the same page.
        values.sort_unstable();
        Ok(Some(Outdated { last, left: values.len(), values: values.into() }))
    }

    /// Return the lists that end above block `number`, oldest first; the first one may also cover blocks
    /// before it.
    pub(super) fn lists_above(&self, number: u64) -> Result<Vec<ChangeList>, StateError> {
        self.lists_between(number, LATEST, usize::MAX)
    }

    /// Return the list that ends with block `last`, empty if there is none.
    fn list(&self, last: u64) -> Result<Vec<ChangeList>, StateError> {
        self.lists_between(last.saturating_sub(1), last, usize::MAX)
    }

    /// Return the lists with all changes after block `number` up to block `end`, oldest first; the first and
    /// the last may cover further blocks.
    ///
    /// Fail with `TooMuchChanged` if the lists exceed `limit` bytes.
    fn lists_between(&self, number: u64, end: u64, limit: usize) -> Result<Vec<ChangeList>, StateError> {
        let mut lists: Vec<ChangeList> = Vec::new();
        let mut bytes = 0;
        let (first, last) = (changes_key(number + 1, 0), changes_key(LATEST, u32::MAX));
        let bounds = (std::ops::Bound::Included(&first[..]), std::ops::Bound::Included(&last[..]));
        for row in self.tables.changes.range(&self.txn, &bounds)? {
            let (key, part) = row?;
            let last = key.first_chunk().map_or(0, |number| u64::from_be_bytes(*number));
            bytes += part.len();
            if bytes > limit {
                return Err(StateError::TooMuchChanged { since: number, limit });
            }
            match lists.last_mut() {
                Some(list) if list.0 == last => list.1.extend_from_slice(part),
                Some(list) if list.0 >= end => break,
                _ => lists.push((last, part.to_vec())),
            }
        }
        Ok(lists)
    }

    /// Return the values after block `number` of everything changed by later blocks, and the reservation of
    /// memory for them.
    pub(super) fn values_at(&self, number: u64, bounds: Bounds<'_>) -> Result<(Delta, Taken), StateError> {
        let lists = self.lists_between(number, LATEST, bounds.changes)?;
        let taken = bounds.take(lists.iter().map(|(_, list)| list.len()).sum())?;
        let values = merged(&lists)?.values(
            |address| bounds.check().and_then(|()| self.account_at(address, number)),
            |address, slot| bounds.check().and_then(|()| self.storage_at(address, slot, number)),
        )?;
        Ok((values, taken))
    }

    /// Return the accounts and slots named by the lists of the blocks after `number` up to `last`: all that
    /// changed, and perhaps more.
    pub(super) fn touched_between(
        &self,
        number: u64,
        last: u64,
        bounds: Bounds<'_>,
    ) -> Result<TouchedState, StateError> {
        merged(&self.lists_between(number, last, bounds.changes)?)
    }
}

/// Decode lists and return the union of the accounts and slots in them; fail with `Corrupt` if one is
/// malformed.
pub(super) fn merged(lists: &[ChangeList]) -> Result<TouchedState, StateError> {
    let mut changed = TouchedState::default();
    for (number, list) in lists {
        let corrupt = || StateError::Corrupt(format!("changes up to block {number}"));
        decode(list, &mut changed).ok_or_else(corrupt)?;
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::super::delta::TouchedAccount;
    use super::*;

    #[test]
    fn the_list_of_changes_survives_encoding() {
        let mut changed = TouchedState::default();
        for (n, account, slots) in [(1, true, 0u64), (2, false, 300), (3, true, 63), (4, true, 64)] {
            let slots = (0..slots).map(U256::from).collect();
            changed.0.insert(Address::repeat_byte(n), TouchedAccount { account, slots });
        }
        let list = encode(&changed);
        assert_eq!(merged(&[(1, list.clone())]).unwrap().0, changed.0);
        assert!(merged(&[(1, list[..list.len() - 1].to_vec())]).is_err());
    }
}
