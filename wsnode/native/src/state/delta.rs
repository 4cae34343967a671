//! Changes of a block as flat values.

use super::layout::account::Account;
use super::StateError;
use alloy_primitives::map::{AddressMap, HashMap, HashSet};
use alloy_primitives::{Address, B256, U256};
use revm::bytecode::Bytecode;
use revm::database::states::BundleAccount;
use revm::database::BundleState;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AccountDelta {
    pub(super) address: Address,
    /// Account after the block, or None if only its slots changed; `Some(None)` if it was removed.
    pub(super) account: Option<Option<Account>>,
    /// Changed slots with their values after the block.
    pub(super) slots: Vec<(U256, U256)>,
}

/// The changes of a run of transactions, each account once.
#[derive(Debug, Default)]
pub(super) struct Delta {
    pub(super) accounts: Vec<AccountDelta>,
    pub(super) code: Vec<(B256, Bytecode)>,
}

impl Delta {
    /// Return the changes of `bundle` to the state `before`; accounts without a change are left out.
    pub(super) fn of(bundle: &BundleState, before: &impl LiveSlots) -> Result<Self, StateError> {
        let mut accounts = Vec::with_capacity(bundle.state.len());
        for (address, account) in &bundle.state {
            let delta = AccountDelta::of(*address, account, before)?;
            if delta.account.is_some() || !delta.slots.is_empty() {
                accounts.push(delta);
            }
        }
        let code = bundle.contracts.iter().map(|(hash, code)| (*hash, code.clone())).collect();
        Ok(Self { accounts, code })
    }
}

impl AccountDelta {
    fn of(address: Address, account: &BundleAccount, before: &impl LiveSlots) -> Result<Self, StateError> {
        let changed = account.is_info_changed() || account.was_destroyed();
        let after = changed.then(|| account.info.as_ref().map(Account::from));
        let slots = if account.was_destroyed() {
            slots_after_destruction(address, account, before)?
        } else {
            let changed = account.storage.iter().filter(|(_, slot)| slot.is_changed());
            changed.map(|(slot, value)| (*slot, value.present_value)).collect()
        };
        Ok(Self { address, account: after, slots })
    }
}

/// Return the changed slots of a destroyed account, with their values.
///
/// revm's bundle does not name the slots of a destroyed account. Each of them becomes zero, or the value
/// written after the account was created again.
fn slots_after_destruction(
    address: Address,
    account: &BundleAccount,
    before: &impl LiveSlots,
) -> Result<Vec<(U256, U256)>, StateError> {
    let live = before.live_slots(address)?;
    let written = |slot: &U256| account.storage.get(slot).map_or(U256::ZERO, |slot| slot.present_value);
    let new = account.storage.iter().map(|(slot, value)| (*slot, value.present_value));
    let new = new.filter(|(slot, value)| !value.is_zero() && !live.contains_key(slot));
    let old = live.iter().map(|(slot, value)| (*slot, *value, written(slot)));
    let old = old.filter(|(_, before, after)| before != after).map(|(slot, _, after)| (slot, after));
    Ok(old.chain(new).collect())
}

/// State that can list every slot of an account.
pub(super) trait LiveSlots {
    /// Return all slots of `address` with a value other than zero.
    fn live_slots(&self, address: Address) -> Result<HashMap<U256, U256>, StateError>;
}

/// Accounts and slots that were changed, without their values.
#[derive(Debug, Default)]
pub(super) struct TouchedState(pub(super) AddressMap<TouchedAccount>);

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct TouchedAccount {
    /// True if the account itself was changed, not only its slots.
    pub(super) account: bool,
    pub(super) slots: HashSet<U256>,
}

impl TouchedState {
    pub(super) fn add(&mut self, delta: &Delta) {
        for changed in &delta.accounts {
            let touched = self.0.entry(changed.address).or_default();
            touched.account |= changed.account.is_some();
            touched.slots.extend(changed.slots.iter().map(|(slot, _)| *slot));
        }
    }

    /// Return the accounts and slots of `self` without those of `delta`.
    pub(super) fn without(&self, delta: &Delta) -> Self {
        let newer = delta.accounts.iter().map(|changed| (changed.address, changed));
        let newer: AddressMap<_> = if self.0.is_empty() { <_>::default() } else { newer.collect() };
        let left = self.0.iter().map(|(address, touched)| {
            let mut left = touched.clone();
            if let Some(changed) = newer.get(address) {
                left.account &= changed.account.is_none();
                for (slot, _) in &changed.slots {
                    left.slots.remove(slot);
                }
            }
            (*address, left)
        });
        Self(left.filter(|(_, left)| left.account || !left.slots.is_empty()).collect())
    }

    /// Read each touched account with `account` and each touched slot with `storage`, and return the values
    /// read.
    pub(super) fn values(
        &self,
        account: impl Fn(&Address) -> Result<Option<Account>, StateError>,
        storage: impl Fn(&Address, &U256) -> Result<U256, StateError>,
    ) -> Result<Delta, StateError> {
        let mut accounts = Vec::with_capacity(self.0.len());
        for (address, touched) in &self.0 {
            let account = if touched.account { Some(account(address)?) } else { None };
            let slots = touched.slots.iter().map(|slot| Ok((*slot, storage(address, slot)?)));
            let slots = slots.collect::<Result<_, StateError>>()?;
            accounts.push(AccountDelta { address: *address, account, slots });
        }
        Ok(Delta { accounts, code: Vec::new() })
    }
}
