//! Changes of the head's state in place, without a block, as development chains allow.
//!
//! The block's recorded root becomes that of the changed state, so blocks built on it agree. The replaced
//! values are kept in `patches` under the block's number, for a return to an earlier root of the same block.

use super::batch::put_nodes;
use super::patches::Patch;
use super::staged::{CommitEffect, Staged};
use crate::state::caches::code::analyse;
use crate::state::caches::hashes::Hashes;
use crate::state::changes::{self, merged, parts};
use crate::state::delta::{AccountDelta, Delta, TouchedState};
use crate::state::environment::Snapshot;
use crate::state::layout::account::Account;
use crate::state::layout::keys::{account_key, storage_key, LATEST};
use crate::state::layout::tables::{Head, Tables};
use crate::state::layout::versions::{self, drop_from};
use crate::state::store::{root_of, StateStore};
use crate::state::StateError;
use crate::store::WriteTxn;
use crate::trie::StateTries;
use alloy_primitives::map::HashMap;
use alloy_primitives::{keccak256, Address, Bytes, B256, U256};
use alloy_trie::KECCAK_EMPTY;

/// New values of an account; None leaves a value unchanged.
#[derive(Debug, Clone, Default)]
pub struct AccountPatch {
    pub address: Address,
    pub nonce: Option<u64>,
    pub balance: Option<U256>,
    pub code: Option<Bytes>,
    pub slots: Vec<(U256, U256)>,
    /// True if slots that are not listed become zero.
    pub replaces_storage: bool,
}

impl StateStore {
    /// Stage a change of the committed state after the head, and return its new root and the change.
    ///
    /// Sealed blocks must be committed before, and `patches` must not name an account twice.
    pub fn stage_patch(&mut self, patches: &[AccountPatch]) -> Result<(B256, Staged), StateError> {
        self.require_committed()?;
        let head = self.committed;
        let snapshot = self.environment.read()?;
        let (before, after) = changes_of(&snapshot, patches)?;
        let mut tries = StateTries::new(root_of(&head));
        let state_root = tries.apply(&snapshot, Hashes::default().changes(&after))?;
        let patched = Head { state_root, ..head };
        let list = snapshot.list_with(head.number, &after)?;
        let patch = Patch { state_root: root_of(&head), before };
        let (key, rows) = (snapshot.next_patch(head.number)?, tries.rows());
        drop(snapshot);
        let staged = self.staged(CommitEffect::Moved, move |txn, tables| {
            put_in_place(txn, tables, &after, head.number)?;
            for (key, part) in parts(head.number, &list).filter(|_| head.number > 0) {
                tables.changes.put(txn, &key, part)?;
            }
            put_nodes(txn, tables, &rows)?;
            tables.patches.put(txn, &key, &patch.encode())?;
            tables.put_block(txn, &patched)
        });
        Ok((state_root, staged))
    }
}

impl Snapshot<'_> {
    /// Return the change list of the head, block `number`, extended by the accounts and slots of `delta`.
    fn list_with(&self, number: u64, delta: &Delta) -> Result<Vec<u8>, StateError> {
        let lists = if number > 0 { self.lists_above(number - 1)? } else { Vec::new() };
        let mut changed: TouchedState = merged(&lists)?;
        changed.add(delta);
        Ok(changes::encode(&changed))
    }
}

/// Return the values that `patches` replace, and the new values.
fn changes_of(snapshot: &Snapshot<'_>, patches: &[AccountPatch]) -> Result<(Delta, Delta), StateError> {
    let (mut before, mut after) = (Delta::default(), Delta::default());
    for patch in patches {
        let address = patch.address;
        let account = snapshot.account_at(&address, LATEST)?;
        let changed = patched(patch, account);
        // A list of all slots of an account takes a walk through the table, which few patches need.
        let needs_all = patch.replaces_storage || is_empty(&changed);
        if needs_all {
            snapshot.require_listed(&address)?;
        }
        let mut live = if needs_all { snapshot.live_slots_at(&address, LATEST)? } else { <_>::default() };
        let slots = slots_of(patch, &live);
        let old = slots.iter().map(|(slot, _)| Ok((*slot, snapshot.storage_at(&address, slot, LATEST)?)));
        let old = old.collect::<Result<_, StateError>>()?;
        before.accounts.push(AccountDelta { address, account: Some(account), slots: old });
        live.extend(slots.iter().copied());
        let has_slots = live.values().any(|value| !value.is_zero());
        let changed = Some(changed).filter(|account| has_slots || !is_empty(account));
        after.accounts.push(AccountDelta { address, account: Some(changed), slots });
        let code = patch.code.as_ref().filter(|code| !code.is_empty());
        after.code.extend(code.map(|code| (keccak256(code), analyse(code.clone()))));
    }
    Ok((before, after))
}

/// Return the patched slots with their new values, each once.
fn slots_of(patch: &AccountPatch, live: &HashMap<U256, U256>) -> Vec<(U256, U256)> {
    let mut slots: HashMap<U256, U256> = HashMap::default();
    if patch.replaces_storage {
        slots.extend(live.keys().map(|slot| (*slot, U256::ZERO)));
    }
    slots.extend(patch.slots.iter().copied());
    slots.into_iter().collect()
}

fn patched(patch: &AccountPatch, account: Option<Account>) -> Account {
    let nobody = Account { nonce: 0, balance: U256::ZERO, code_hash: KECCAK_EMPTY };
    let account = account.unwrap_or(nobody);
    Account {
        nonce: patch.nonce.unwrap_or(account.nonce),
        balance: patch.balance.unwrap_or(account.balance),
        // Removed code is empty code here, and its hash is `KECCAK_EMPTY`.
        code_hash: patch.code.as_ref().map_or(account.code_hash, keccak256),
    }
}

fn is_empty(account: &Account) -> bool {
    account.nonce == 0 && account.balance.is_zero() && account.code_hash == KECCAK_EMPTY
}

/// Write `delta` as the values after block `number`, the head, in place of its own.
pub fn put_in_place(
    txn: &mut WriteTxn<'_>,
    tables: &Tables,
    delta: &Delta,
    number: u64,
) -> Result<(), StateError> {
    for AccountDelta { address, account, slots } in &delta.accounts {
        if let Some(account) = account {
            drop_from(txn, tables.accounts, address.as_slice(), number)?;
            let version = [(account_key(address, number), *account)];
            versions::put(txn, tables.accounts, &version, |account, row| {
                account.iter().for_each(|account| account.encode(row));
            })?;
        }
        for (slot, value) in slots {
            let key = storage_key(address, slot, number);
            drop_from(txn, tables.storage, &key[..key.len() - 8], number)?;
            versions::put(
                txn,
                tables.storage,
                &[(key, *value)],
                crate::state::layout::account::encode_value,
            )?;
        }
    }
    for (hash, code) in &delta.code {
        tables.code.put(txn, hash.as_slice(), code.original_byte_slice())?;
    }
    Ok(())
}
