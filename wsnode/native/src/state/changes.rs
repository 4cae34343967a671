//! The rows of `changes`: which accounts and slots a block changed, for unwinding and old proofs.
//!
//! A block's list is a sequence of: address, twice the number of slots plus one if the account itself
//! changed (LEB128), slots. It is cut into parts, for a longer row would fill whole pages of its own.

use super::delta::{AccountDelta, Delta};
use super::environment::Snapshot;
use super::keys::changes_key;
use super::StateError;
use alloy_primitives::map::{AddressMap, HashSet};
use alloy_primitives::{Address, U256};

/// Three parts fill a page.
pub(super) const PART: usize = 1330;

/// What one block changed of one account.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Changed {
    pub(super) address: Address,
    pub(super) account: bool,
    pub(super) slots: Vec<U256>,
}

/// The list of what `delta` changes.
pub(super) fn encode(delta: &Delta) -> Vec<u8> {
    let mut list = Vec::new();
    for AccountDelta {
        address,
        account,
        slots,
    } in &delta.accounts
    {
        list.extend_from_slice(address.as_slice());
        let mut count = (slots.len() << 1) | usize::from(account.is_some());
        while count >= 0x80 {
            list.push(count as u8 | 0x80);
            count >>= 7;
        }
        list.push(count as u8);
        slots
            .iter()
            .for_each(|(slot, _)| list.extend_from_slice(&slot.to_be_bytes::<32>()));
    }
    list
}

fn decode(list: &[u8]) -> Option<Vec<Changed>> {
    let (mut rest, mut all) = (list, Vec::new());
    while !rest.is_empty() {
        let (address, after) = rest.split_at_checked(20)?;
        let length = after.iter().position(|byte| byte & 0x80 == 0)? + 1;
        let (count, after) = after.split_at(length);
        let count = count.iter().rev().fold(0usize, |count, byte| {
            (count << 7) | usize::from(byte & 0x7f)
        });
        let (slots, after) = after.split_at_checked((count >> 1).checked_mul(32)?)?;
        let slots = slots.chunks_exact(32).map(U256::from_be_slice).collect();
        all.push(Changed {
            address: Address::from_slice(address),
            account: count & 1 == 1,
            slots,
        });
        rest = after;
    }
    Some(all)
}

impl Snapshot<'_> {
    /// What block `number` changed.
    pub(super) fn changes(&self, number: u64) -> Result<Vec<Changed>, StateError> {
        let mut list = Vec::new();
        for row in self
            .tables
            .changes
            .prefix_iter(&self.txn, &number.to_be_bytes())?
        {
            list.extend_from_slice(row?.1);
        }
        decode(&list).ok_or_else(|| StateError::Corrupt(format!("changes of block {number}")))
    }

    /// The values at block `number` of everything that later blocks up to `head` changed.
    pub(super) fn values_at(&self, number: u64, head: u64) -> Result<Delta, StateError> {
        let mut all: AddressMap<(bool, HashSet<U256>)> = AddressMap::default();
        for later in number + 1..=head {
            for changed in self.changes(later)? {
                let (account, slots) = all.entry(changed.address).or_default();
                *account |= changed.account;
                slots.extend(changed.slots);
            }
        }
        let mut accounts = Vec::with_capacity(all.len());
        for (address, (changed, slots)) in all {
            let account = if changed {
                Some(self.account_at(&address, number)?)
            } else {
                None
            };
            let slots = slots
                .into_iter()
                .map(|slot| Ok((slot, self.storage_at(&address, &slot, number)?)));
            accounts.push(AccountDelta {
                address,
                account,
                slots: slots.collect::<Result<_, StateError>>()?,
            });
        }
        Ok(Delta {
            accounts,
            code: Vec::new(),
        })
    }
}

/// Keys and values of the rows of a block's list.
pub(super) fn parts(number: u64, list: &[u8]) -> impl Iterator<Item = ([u8; 12], &[u8])> {
    (0u32..)
        .zip(list.chunks(PART))
        .map(move |(part, row)| (changes_key(number, part), row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_changes_survives_encoding() {
        let account = |n: u8, changed: bool, slots: u64| AccountDelta {
            address: Address::repeat_byte(n),
            account: changed.then_some(None),
            slots: (0..slots)
                .map(|slot| (U256::from(slot), U256::from(7)))
                .collect(),
        };
        let accounts = vec![
            account(1, true, 0),
            account(2, false, 300),
            account(3, true, 63),
            account(4, true, 64),
        ];
        let delta = Delta {
            accounts,
            code: Vec::new(),
        };
        let decoded = decode(&encode(&delta)).unwrap();
        let expected: Vec<_> = delta
            .accounts
            .iter()
            .map(|account| Changed {
                address: account.address,
                account: account.account.is_some(),
                slots: account.slots.iter().map(|(slot, _)| *slot).collect(),
            })
            .collect();
        assert_eq!(decoded, expected);
        assert_eq!(decode(&encode(&delta)[..30]), None);
    }
}
