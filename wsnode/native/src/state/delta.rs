//! What a block changed, as flat values.

use super::account::Account;
use super::view::LatestView;
use super::StateError;
use alloy_primitives::map::{AddressMap, HashSet};
use alloy_primitives::{Address, B256, U256};
use revm::bytecode::Bytecode;
use revm::database::states::BundleAccount;
use revm::database::BundleState;

/// The changes of one account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AccountDelta {
    pub(super) address: Address,
    /// The account after the block, if that changed; the inner none: it is gone.
    pub(super) account: Option<Option<Account>>,
    /// Changed slots and their values.
    pub(super) slots: Vec<(U256, U256)>,
}

/// The changes of a run of transactions, each account once.
#[derive(Debug, Default)]
pub(super) struct Delta {
    pub(super) accounts: Vec<AccountDelta>,
    pub(super) code: Vec<(B256, Bytecode)>,
}

impl Delta {
    /// What `bundle` changes on top of `before`.
    pub(super) fn of(bundle: &BundleState, before: &LatestView<'_>) -> Result<Self, StateError> {
        let mut accounts = Vec::with_capacity(bundle.state.len());
        for (address, account) in &bundle.state {
            let delta = AccountDelta::of(*address, account, before)?;
            if delta.account.is_some() || !delta.slots.is_empty() {
                accounts.push(delta);
            }
        }
        let code = bundle
            .contracts
            .iter()
            .map(|(hash, code)| (*hash, code.clone()))
            .collect();
        Ok(Self { accounts, code })
    }
}

impl AccountDelta {
    fn of(
        address: Address,
        account: &BundleAccount,
        before: &LatestView<'_>,
    ) -> Result<Self, StateError> {
        let changed = account.is_info_changed() || account.was_destroyed();
        let after = changed.then(|| account.info.as_ref().map(Account::from));
        let slots = if account.was_destroyed() {
            slots_after_destruction(address, account, before)?
        } else {
            let changed = account.storage.iter().filter(|(_, slot)| slot.is_changed());
            changed
                .map(|(slot, value)| (*slot, value.present_value))
                .collect()
        };
        Ok(Self {
            address,
            account: after,
            slots,
        })
    }
}

/// The bundle does not name the slots that a destroyed account had; every one of them is set to zero,
/// or to what the account wrote after it was created again.
fn slots_after_destruction(
    address: Address,
    account: &BundleAccount,
    before: &LatestView<'_>,
) -> Result<Vec<(U256, U256)>, StateError> {
    let live = before.live_slots(address)?;
    let written = |slot: &U256| {
        account
            .storage
            .get(slot)
            .map_or(U256::ZERO, |slot| slot.present_value)
    };
    let new = account
        .storage
        .iter()
        .map(|(slot, value)| (*slot, value.present_value));
    let new = new.filter(|(slot, value)| !value.is_zero() && !live.contains_key(slot));
    let old = live
        .iter()
        .map(|(slot, value)| (*slot, *value, written(slot)));
    let old = old
        .filter(|(_, before, after)| before != after)
        .map(|(slot, _, after)| (slot, after));
    Ok(old.chain(new).collect())
}

/// What the tries were told of an unfinished block; told again without it, they must forget it.
#[derive(Debug, Default)]
pub(super) struct Touched(AddressMap<(bool, HashSet<U256>)>);

impl Touched {
    pub(super) fn add(&mut self, delta: &Delta) {
        for account in &delta.accounts {
            let (changed, slots) = self.0.entry(account.address).or_default();
            *changed |= account.account.is_some();
            slots.extend(account.slots.iter().map(|(slot, _)| *slot));
        }
    }

    /// The values of `before` for all that was touched and that `delta` leaves alone.
    pub(super) fn restore(
        &self,
        delta: &Delta,
        before: &LatestView<'_>,
    ) -> Result<Delta, StateError> {
        if self.0.is_empty() {
            return Ok(Delta::default());
        }
        let now: AddressMap<_> = delta
            .accounts
            .iter()
            .map(|account| (account.address, account))
            .collect();
        let mut accounts = Vec::new();
        for (address, (changed, slots)) in &self.0 {
            let now = now.get(address);
            let told: HashSet<U256> = now
                .iter()
                .flat_map(|now| &now.slots)
                .map(|(slot, _)| *slot)
                .collect();
            let restored = slots
                .difference(&told)
                .map(|slot| Ok((*slot, before.storage(*address, *slot)?)));
            let slots = restored.collect::<Result<_, StateError>>()?;
            let account = if *changed && now.is_none_or(|now| now.account.is_none()) {
                Some(before.account(*address)?)
            } else {
                None
            };
            accounts.push(AccountDelta {
                address: *address,
                account,
                slots,
            });
        }
        Ok(Delta {
            accounts,
            code: Vec::new(),
        })
    }
}
