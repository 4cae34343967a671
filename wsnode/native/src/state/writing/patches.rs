//! Rows of `patches` with the values that patches of a block's state replaced, oldest first.
//!
//! Key: block (8), index (4). Value: the state root before (32), then for each account: address, length of
//! its row (1), its row as it was (empty if it did not exist), number of slots (4), slots and values (32
//! each).

use crate::state::delta::{AccountDelta, Delta};
use crate::state::environment::Snapshot;
use crate::state::layout::account::Account;
use crate::state::layout::tables::{Head, Tables};
use crate::state::StateError;
use crate::store::WriteTxn;
use alloy_primitives::map::{AddressMap, HashMap};
use alloy_primitives::{Address, B256, U256};
use std::ops::Bound;

pub type PatchKey = [u8; 12];

/// State root and values before a patch.
#[derive(Debug)]
pub struct Patch {
    pub state_root: B256,
    pub before: Delta,
}

fn patch_key(number: u64, index: u32) -> PatchKey {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key[8..].copy_from_slice(&index.to_be_bytes());
    key
}

impl Patch {
    pub fn encode(&self) -> Vec<u8> {
        let mut row = self.state_root.to_vec();
        for AccountDelta { address, account, slots } in &self.before.accounts {
            row.extend_from_slice(address.as_slice());
            let length = row.len();
            row.push(0);
            account.flatten().iter().for_each(|account| account.encode(&mut row));
            row[length] = (row.len() - length - 1) as u8;
            row.extend_from_slice(&(slots.len() as u32).to_be_bytes());
            for (slot, value) in slots {
                row.extend_from_slice(&slot.to_be_bytes::<32>());
                row.extend_from_slice(&value.to_be_bytes::<32>());
            }
        }
        row
    }

    fn decode(row: &[u8]) -> Result<Self, StateError> {
        let corrupt = || StateError::Corrupt("row of a patch".into());
        let (state_root, mut rest) = row.split_at_checked(32).ok_or_else(corrupt)?;
        let mut before = Delta::default();
        while !rest.is_empty() {
            let (account, after) = decode_account(rest).ok_or_else(corrupt)?;
            let (address, account, slots) = account;
            let account = Some(Account::decode(account)?);
            before.accounts.push(AccountDelta { address, account, slots });
            rest = after;
        }
        Ok(Self { state_root: B256::from_slice(state_root), before })
    }
}

type Encoded<'r> = (Address, &'r [u8], Vec<(U256, U256)>);

/// Split a patch's row into its first account and the bytes after it; None if it is malformed.
fn decode_account(row: &[u8]) -> Option<(Encoded<'_>, &[u8])> {
    let (address, rest) = row.split_at_checked(20)?;
    let (length, rest) = rest.split_first()?;
    let (account, rest) = rest.split_at_checked(usize::from(*length))?;
    let (count, rest) = rest.split_first_chunk()?;
    let size = usize::try_from(u32::from_be_bytes(*count)).ok()?.checked_mul(64)?;
    let (slots, rest) = rest.split_at_checked(size)?;
    let pair = |pair: &[u8]| (U256::from_be_slice(&pair[..32]), U256::from_be_slice(&pair[32..]));
    Some(((Address::from_slice(address), account, slots.chunks_exact(64).map(pair).collect()), rest))
}

/// Reversal of a block's last patches: the values before them, and their keys.
#[derive(Debug, Default)]
pub struct Undo {
    pub before: Delta,
    keys: Vec<PatchKey>,
}

impl Snapshot<'_> {
    pub fn next_patch(&self, number: u64) -> Result<PatchKey, StateError> {
        let prefix = &number.to_be_bytes();
        let last = self.tables.patches.rev_prefix_iter(&self.txn, prefix)?.next().transpose()?;
        let index =
            last.and_then(|(key, _)| key.last_chunk()).map_or(0, |index| u32::from_be_bytes(*index) + 1);
        Ok(patch_key(number, index))
    }

    /// Return the state root of a block before its first patch: the one in its header.
    pub fn unpatched_root(&self, block: &Head) -> Result<B256, StateError> {
        let prefix = &block.number.to_be_bytes();
        let first = self.tables.patches.prefix_iter(&self.txn, prefix)?.next().transpose()?;
        first.map_or(Ok(block.state_root), |(_, row)| Ok(Patch::decode(row)?.state_root))
    }

    /// Return the reversal of patches that takes `block` back to its earlier state root `wanted`.
    ///
    /// Fail with `UnknownRoot` if the block never had it.
    pub fn undo(&self, block: &Head, wanted: B256) -> Result<Undo, StateError> {
        let mut undo = Undo::default();
        let mut values: AddressMap<(Option<Account>, HashMap<U256, U256>)> = AddressMap::default();
        let mut root = block.state_root;
        let prefix = &block.number.to_be_bytes();
        let mut rows = self.tables.patches.rev_prefix_iter(&self.txn, prefix)?;
        while root != wanted {
            let missing = StateError::UnknownRoot { number: block.number, root: wanted };
            let (key, row) = rows.next().transpose()?.ok_or(missing)?;
            let patch = Patch::decode(row)?;
            for changed in patch.before.accounts {
                let (account, slots) = values.entry(changed.address).or_default();
                *account = changed.account.flatten();
                slots.extend(changed.slots);
            }
            undo.keys.push(key.try_into().map_err(|_| StateError::Corrupt("key of a patch".into()))?);
            root = patch.state_root;
        }
        let account = |(address, (account, slots)): (Address, (Option<Account>, HashMap<U256, U256>))| {
            AccountDelta { address, account: Some(account), slots: slots.into_iter().collect() }
        };
        undo.before.accounts = values.into_iter().map(account).collect();
        Ok(undo)
    }
}

/// Delete the patches that `undo` reverts, and the patches of all blocks above `number`.
pub fn forget(txn: &mut WriteTxn<'_>, tables: &Tables, undo: &Undo, number: u64) -> Result<(), StateError> {
    for key in &undo.keys {
        tables.patches.delete(txn, key)?;
    }
    let (first, last) = (patch_key(number + 1, 0), patch_key(u64::MAX, u32::MAX));
    let later = (Bound::Included(&first[..]), Bound::Included(&last[..]));
    tables.patches.delete_range(txn, &later)?;
    Ok(())
}
