//! Values carried from block to block by block access lists (EIP-7928): a value not named by a list has not
//! changed, and a named one has the list's last value.

use crate::store::ReadTxn;
use alloy_eips::eip7928::{AccountChanges, BlockAccessList};
use alloy_primitives::{Address, B256, U256};
use alloy_trie::KECCAK_EMPTY;

use super::store::{Carried, ProvedStore};
use crate::state::error::Miss;
use crate::state::layout::account::Account;
use crate::state::StateError;

/// RLP of a block's access list, and the state root of its parent.
pub type BlockStep<'l> = (&'l [u8], B256);

impl ProvedStore {
    /// Return how many of `roots`, state roots from the newest block down, reach a block with a known value
    /// for each of `wanted`; values known at none of them do not count.
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

    /// Keep the values of `wanted` in the state with `state_root` that follow from earlier states, and return
    /// the rest.
    ///
    /// `steps` lead down from the block with this state root. The caller has verified their lists by headers.
    pub(super) fn carry(
        &self,
        state_root: B256,
        steps: &[BlockStep<'_>],
        wanted: &[Miss],
    ) -> Result<Vec<Miss>, StateError> {
        let lists = steps.iter().map(|(list, _)| decoded(list)).collect::<Result<Vec<_>, _>>()?;
        let roots: Vec<_> = steps.iter().map(|(_, root)| *root).collect();
        let (mut found, mut others) = (Vec::new(), Vec::new());
        let txn = self.read()?;
        for miss in wanted {
            // If the value is known, only its storage root is missing, which no access list contains.
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

    /// Return the value after the block of the first list: the newest known one before it, with all changes
    /// since; None if none is known.
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
    /// Return the value after a block with this access list.
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

/// Return the account after a block that touched it; None if it is empty then and so removed (EIP-161).
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
