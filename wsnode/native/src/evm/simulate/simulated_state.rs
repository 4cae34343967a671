//! State that simulated blocks change: values in memory over a block's state, and a record of the changes.

use alloy_eips::eip7928::{BlockAccessIndex, BlockAccessList};
use alloy_primitives::map::{AddressMap, HashSet};
use alloy_primitives::{keccak256, Address, B256, U256};
use revm::database::{AccountState, CacheDB};
use revm::database_interface::bal::BalState;
use revm::primitives::hardfork::SpecId;
use revm::state::bal::Bal;
use revm::state::{AccountInfo, EvmState};
use revm::Database;

use crate::error::Error;
use crate::evm::call::database::{commit, CallState};
use crate::evm::call::{Layer, WorkBudget};
use crate::evm::chain_spec::ChainSpec;
use crate::state::{Account, Bounds, ChangedAccount, HistoryView, StateAfter, StateReader, TrialTries};

/// State after some simulated calls.
#[derive(Debug)]
pub struct SimulatedState<'a> {
    pub state: CallState<'a>,
    tries: TrialTries<'a>,
    /// Accounts and slots that the current block changed.
    changed: AddressMap<Changed>,
    /// Accounts and slots that the current block touches, if it has an access list.
    access_list: BalState,
}

#[derive(Debug, Default)]
struct Changed {
    /// True if all slots from before the change are cleared.
    is_wiped: bool,
    slots: HashSet<U256>,
}

impl<'a> SimulatedState<'a> {
    /// Return the state after a block, within a bound of `changes` bytes for a block below the head.
    pub fn open(
        reader: &'a StateReader,
        state: StateAfter<'a>,
        (spec, rules): (&ChainSpec, SpecId),
        work_budget: &'a WorkBudget,
        changes: usize,
    ) -> Result<Self, Error> {
        let tries = reader.trial(state, Bounds::back(work_budget.cancel(), changes))?;
        let layer = Layer::Cached(Box::new(CacheDB::new(tries.view())));
        let (changed, access_list) = <_>::default();
        Ok(Self { state: CallState::new(layer, work_budget, spec, rules), tries, changed, access_list })
    }

    pub fn values(&mut self) -> Result<&mut CacheDB<HistoryView<'a>>, Error> {
        match &mut self.state.layer {
            Layer::Cached(values) => Ok(values),
            Layer::Plain(_) => Err(Error::internal("a ledger holds changes")),
        }
    }

    pub fn account(&mut self, address: Address) -> Result<AccountInfo, Error> {
        Ok(self.state.basic(address)?.unwrap_or_default())
    }

    /// Begin the record of the accounts and slots that a block touches, if it has an access list.
    pub fn begin_access_list(&mut self, has_list: bool) {
        self.access_list = BalState::default();
        if has_list {
            self.access_list.bal_builder = Some(Bal::new());
        }
    }

    /// Set the index of the following accesses: 0 before the calls, n + 1 for call n, and one more after the
    /// last.
    pub fn enter(&mut self, index: usize) {
        self.access_list.bal_index = BlockAccessIndex::new(index as u64);
    }

    /// Return the hash of the access list, or None if the block has none.
    pub fn take_access_list(&mut self) -> Option<B256> {
        let list: BlockAccessList = self.access_list.take_built_alloy_bal()?.into_iter().collect();
        Some(keccak256(alloy_rlp::encode(&list)))
    }

    /// Keep the changes of a run. From Spurious Dragon on (`clears_empty`), empty accounts that it touched
    /// are removed.
    pub fn commit(&mut self, changes: EvmState, clears_empty: bool) -> Result<(), Error> {
        self.access_list.commit(&changes);
        let mut emptied = Vec::new();
        for (address, account) in changes.iter().filter(|(_, account)| account.is_touched()) {
            let slots = account.storage.iter().filter(|(_, slot)| slot.is_changed());
            let is_wiped = account.is_selfdestructed() || account.is_created();
            self.note(*address, is_wiped, slots.map(|(slot, _)| *slot));
            if clears_empty && account.info.is_empty() {
                emptied.push(*address);
            }
        }
        commit(self.values()?, changes);
        emptied.into_iter().try_for_each(|address| self.clear(address))
    }

    /// Add `amount` wei to a balance outside of any transaction.
    pub fn credit(&mut self, address: Address, amount: U256, clears_empty: bool) -> Result<(), Error> {
        let mut info = self.account(address)?;
        let mut credited = revm::state::Account::from(info.clone());
        info.balance = info.balance.wrapping_add(amount);
        credited.info.balance = info.balance;
        self.access_list.commit_one(address, &credited);
        let is_empty = info.is_empty();
        self.set(address, info)?;
        if is_empty && clears_empty {
            self.clear(address)?;
        }
        Ok(())
    }

    pub fn set(&mut self, address: Address, info: AccountInfo) -> Result<(), Error> {
        // The account is loaded before the change, because only an account that did not exist is known to
        // have no storage.
        let was_absent = self.state.basic(address)?.is_none();
        let values = self.values()?;
        values.insert_account_info(address, info);
        if was_absent {
            let account = values.load_account(address)?;
            account.account_state = AccountState::StorageCleared;
        }
        self.note(address, false, []);
        Ok(())
    }

    pub fn set_slot(&mut self, address: Address, slot: U256, value: U256) -> Result<(), Error> {
        super::check_interrupted(self.state.work_budget)?;
        self.values()?.insert_account_storage(address, slot, value)?;
        self.note(address, false, [slot]);
        Ok(())
    }

    /// Remove all slots of an account.
    pub fn wipe(&mut self, address: Address) -> Result<(), Error> {
        self.values()?.replace_account_storage(address, <_>::default())?;
        self.note(address, true, []);
        Ok(())
    }

    /// Set the hash of a simulated block for `BLOCKHASH`.
    pub fn name_block(&mut self, number: u64, hash: B256) -> Result<(), Error> {
        self.values()?.cache.block_hashes.insert(U256::from(number), hash);
        Ok(())
    }

    pub fn root(&mut self) -> Result<B256, Error> {
        let changed: Vec<_> = self.changed.keys().copied().collect();
        let changes = changed.into_iter().map(|address| {
            super::check_interrupted(self.state.work_budget)?;
            self.change(address)
        });
        let changes = changes.collect::<Result<Vec<_>, Error>>()?;
        Ok(self.tries.apply(changes)?)
    }

    /// End a block. The record of changes is empty for the next one.
    pub fn seal(&mut self) {
        self.changed.clear();
    }

    fn note(&mut self, address: Address, is_wiped: bool, slots: impl IntoIterator<Item = U256>) {
        let changed = self.changed.entry(address).or_default();
        changed.is_wiped |= is_wiped;
        changed.slots.extend(slots);
    }

    fn clear(&mut self, address: Address) -> Result<(), Error> {
        let account = self.values()?.load_account(address)?;
        account.info = AccountInfo::default();
        account.account_state = AccountState::NotExisting;
        account.storage.clear();
        self.note(address, true, []);
        Ok(())
    }

    fn change(&mut self, address: Address) -> Result<ChangedAccount, Error> {
        let account = self.state.basic(address)?.as_ref().map(Account::from);
        let Some(changed) = self.changed.get(&address) else {
            return Err(Error::internal("only what changed has a change"));
        };
        let is_emptied = changed.is_wiped;
        let values = changed.slots.iter().map(|slot| Ok((*slot, self.state.storage(address, *slot)?)));
        let slots = values.collect::<Result<_, Error>>()?;
        Ok(ChangedAccount { address, account, is_emptied, slots })
    }
}
