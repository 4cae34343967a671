//! Genesis state.

use super::staged::{CommitEffect, Staged};
use crate::state::delta::{AccountDelta, Delta};
use crate::state::layout::account::Account;
use crate::state::layout::tables::Head;
use crate::state::store::{Sealed, StateStore};
use crate::state::StateError;
use crate::trie::NoNodes;
use alloy_primitives::{keccak256, Address, Bytes, B256, U256};
use alloy_trie::KECCAK_EMPTY;

#[derive(Debug, Clone, Default)]
pub struct GenesisAccount {
    pub nonce: u64,
    pub balance: U256,
    pub code: Bytes,
    pub storage: Vec<(B256, B256)>,
}

impl From<&alloy_genesis::GenesisAccount> for GenesisAccount {
    fn from(account: &alloy_genesis::GenesisAccount) -> Self {
        Self {
            nonce: account.nonce.unwrap_or_default(),
            balance: account.balance,
            code: account.code.clone().unwrap_or_default(),
            storage: account.storage.iter().flatten().map(|(slot, value)| (*slot, *value)).collect(),
        }
    }
}

impl From<alloy_genesis::GenesisAccount> for GenesisAccount {
    fn from(account: alloy_genesis::GenesisAccount) -> Self {
        Self::from(&account)
    }
}

impl StateStore {
    /// Stage the genesis allocation of an empty store; return None if the store has the same genesis block.
    ///
    /// Fail with `OtherGenesis` if the store has another one.
    pub fn stage_genesis<A: Into<GenesisAccount>>(
        &mut self,
        genesis_hash: B256,
        alloc: impl IntoIterator<Item = (Address, A)>,
    ) -> Result<Option<Staged>, StateError> {
        if self.is_begun_with(genesis_hash)? {
            return Ok(None);
        }
        let mut delta = Delta::default();
        for (address, account) in alloc {
            allot(&mut delta, address, account.into());
        }
        let state_root = self.working_mut().apply(&NoNodes, &delta)?;
        let head = Head { number: 0, hash: genesis_hash, state_root };
        self.sealed.push(Sealed { head, delta });
        self.stage()
    }

    /// Stage another chain's block, without its state, as the head of an empty store; return None if the
    /// store was begun with the same block.
    ///
    /// Fail with `OtherGenesis` if it was begun with another one.
    pub fn stage_after(&mut self, block: Head) -> Result<Option<Staged>, StateError> {
        if self.is_begun_with(block.hash)? {
            return Ok(None);
        }
        Ok(Some(self.staged(CommitEffect::Moved, move |txn, tables| tables.put_block(txn, &block))))
    }

    fn is_begun_with(&self, expected: B256) -> Result<bool, StateError> {
        match self.genesis_hash()? {
            Some(found) if found != expected => Err(StateError::OtherGenesis { expected, found }),
            found => Ok(found.is_some()),
        }
    }
}

fn allot(delta: &mut Delta, address: Address, account: GenesisAccount) {
    let code_hash = if account.code.is_empty() { KECCAK_EMPTY } else { keccak256(&account.code) };
    let slots = account.storage.iter().map(|(slot, value)| ((*slot).into(), (*value).into()));
    let slots = slots.filter(|(_, value): &(U256, U256)| !value.is_zero()).collect();
    let row = Account { nonce: account.nonce, balance: account.balance, code_hash };
    delta.accounts.push(AccountDelta { address, account: Some(Some(row)), slots });
    if code_hash != KECCAK_EMPTY {
        delta.code.push((code_hash, crate::state::caches::code::analyse(account.code)));
    }
}
