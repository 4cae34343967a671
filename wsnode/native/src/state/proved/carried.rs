//! Values that block access lists carry from block to block (EIP-7928): what a list does not name has not changed, and
//! what it names has the list's last value.

use crate::store::ReadTxn;
use alloy_eips::eip7928::{AccountChanges, BlockAccessList};
use alloy_primitives::{Address, B256, U256};
use alloy_trie::KECCAK_EMPTY;

use super::store::{Carried, ProvedStore};
use crate::state::error::Miss;
use crate::state::layout::account::Account;
use crate::state::StateError;

/// A block's access list, and the state root of its parent.
pub type Step<'l> = (&'l [u8], B256);

impl ProvedStore {
    /// How many of the blocks with these state roots, newest first, lead down to values of all of `wanted` that are
    /// known after one of them.
    pub(super) fn depth(&self, roots: &[B256], wanted: &[Miss]) -> Result<usize, StateError> {
        let txn = self.read()?;
        let mut depth = 0;
        for miss in wanted {
            for (above, root) in roots.iter().enumerate() {
                if self.value(&txn, root, miss)?.is_some() {
                    depth = depth.max(above + 1);
                    break;
                }
            }
        }
        Ok(depth)
    }

    /// Keep those values of the state with a root that follow from the states before it, and return what does not.
    ///
    /// `steps` lead down from the block with that state. The caller has verified the lists by headers.
    pub(super) fn carry(
        &self,
        state_root: B256,
        steps: &[Step<'_>],
        wanted: &[Miss],
    ) -> Result<Vec<Miss>, StateError> {
        let lists = steps.iter().map(|(list, _)| decoded(list)).collect::<Result<Vec<_>, _>>()?;
        let roots: Vec<_> = steps.iter().map(|(_, root)| *root).collect();
        let (mut found, mut others) = (Vec::new(), Vec::new());
        let txn = self.read()?;
        for miss in wanted {
            // Of a value that is known the storage root is lacking, which no list has.
            let is_known = self.value(&txn, &state_root, miss)?.is_some();
            match if is_known { None } else { self.value_after(&txn, &lists, &roots, miss)? } {
                Some(value) => found.push((*miss, value)),
                None => others.push(*miss),
            }
        }
        drop(txn);
        others.extend(self.keep_carried(state_root, &found)?);
        Ok(others)
    }

    /// The value after the first of `lists`: the newest known one before it, with the changes since.
    fn value_after(
        &self,
        txn: &ReadTxn<'_>,
        lists: &[BlockAccessList],
        roots: &[B256],
        miss: &Miss,
    ) -> Result<Option<Carried>, StateError> {
        for (list, root) in roots.iter().enumerate() {
            if let Some(before) = self.value(txn, root, miss)? {
                let since = lists[..=list].iter().rev();
                return Ok(Some(since.fold(before, |value, list| value.after(list, miss))));
            }
        }
        Ok(None)
    }
}

fn decoded(list: &[u8]) -> Result<BlockAccessList, StateError> {
    alloy_rlp::decode_exact(list)
        .map_err(|reason| StateError::Corrupt(format!("block access list: {reason}")))
}

impl Carried {
    /// The value after a block, by its list.
    fn after(self, list: &BlockAccessList, miss: &Miss) -> Self {
        let named = |address: &Address| list.iter().find(|account| account.address == *address);
        match (self, miss) {
            (Self::Account(before, code), Miss::Account(address)) => match named(address) {
                None => Self::Account(before, code),
                Some(changes) => {
                    Self::Account(account_after(before, changes), changes.code_post_state().cloned().or(code))
                }
            },
            (Self::Slot(before), Miss::Slot(address, slot)) => {
                let changed = named(address).and_then(|account| slot_after(account, slot));
                Self::Slot(changed.unwrap_or(before))
            }
            (other, _) => other,
        }
    }
}

/// The account after a block that touched it; one that is empty then is removed (EIP-161).
fn account_after(before: Option<Account>, changes: &AccountChanges) -> Option<Account> {
    let before = before.unwrap_or(Account { nonce: 0, balance: U256::ZERO, code_hash: KECCAK_EMPTY });
    let after = Account {
        nonce: changes.nonce_post_state().unwrap_or(before.nonce),
        balance: changes.balance_post_state().unwrap_or(before.balance),
        code_hash: changes.code_hash_post_state().unwrap_or(before.code_hash),
    };
    let is_empty = after.nonce == 0 && after.balance.is_zero() && after.code_hash == KECCAK_EMPTY;
    (!is_empty).then_some(after)
}

fn slot_after(account: &AccountChanges, slot: &U256) -> Option<U256> {
    account.storage_post_states().find_map(|(changed, value)| (changed == *slot).then_some(value))
}
