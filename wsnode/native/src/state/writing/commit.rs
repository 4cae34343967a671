//! Writing of the genesis state, and of all sealed blocks in one transaction.

use super::batch::Batch;
use crate::state::delta::{AccountDelta, Delta};
use crate::state::layout::account::Account;
use crate::state::layout::tables::Head;
use crate::state::store::{Sealed, StateStore, Working};
use crate::state::StateError;
use crate::store::Durability;
use crate::trie::NoNodes;
use alloy_primitives::{keccak256, Address, Bytes, B256, U256};
use alloy_trie::KECCAK_EMPTY;

/// Most trie nodes kept in memory after a commit: some 300 bytes each.
const NODES_KEPT: usize = 500_000;

/// Account of the genesis allocation.
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
    /// Write the genesis allocation to an empty store and return the state root; a store initialised with the
    /// same genesis block is left as it is.
    ///
    /// Fail with `OtherGenesis` if the store has another genesis block.
    pub fn init_genesis<A: Into<GenesisAccount>>(
        &mut self,
        genesis_hash: B256,
        alloc: impl IntoIterator<Item = (Address, A)>,
    ) -> Result<B256, StateError> {
        if let Some(found) = self.genesis_hash()? {
            if found != genesis_hash {
                return Err(StateError::OtherGenesis { expected: genesis_hash, found });
            }
            let block = self.environment.read()?.block(0)?;
            return Ok(block.ok_or(StateError::NotInitialised)?.state_root);
        }
        let mut delta = Delta::default();
        for (address, account) in alloc {
            allot(&mut delta, address, account.into());
        }
        let state_root = self.working_mut().apply(&NoNodes, &delta)?;
        let head = Head { number: 0, hash: genesis_hash, state_root };
        self.write(&[Sealed { head, delta }], Durability::Full)?;
        Ok(state_root)
    }

    /// Set another chain's block, without its state, as the head of an empty store; a store initialised with
    /// the same block is left as it is.
    ///
    /// Fail with `OtherGenesis` if the store was initialised with another block.
    pub fn init_after(&mut self, block: Head) -> Result<(), StateError> {
        if let Some(found) = self.genesis_hash()? {
            return match found == block.hash {
                true => Ok(()),
                false => Err(StateError::OtherGenesis { expected: block.hash, found }),
            };
        }
        self.environment.write(true, |txn, tables| {
            tables.put_block(txn, &block)?;
            tables.meta.put(txn, b"genesis", block.hash.as_slice())?;
            tables.put_head(txn, &block)
        })?;
        self.committed = block;
        self.working = Working::at(&block);
        Ok(())
    }

    /// Commit every sealed block; after a commit that does not sync, `sync_now` can follow.
    pub fn commit(&mut self, durability: impl Into<Durability>) -> Result<(), StateError> {
        let durability = durability.into();
        // The tries must stand at the last sealed block.
        self.rollback()?;
        if self.sealed.is_empty() {
            return if durability == Durability::Full { self.sync_now() } else { Ok(()) };
        }
        let sealed = std::mem::take(&mut self.sealed);
        let written = self.write(&sealed, durability);
        if written.is_err() {
            self.sealed = sealed;
        }
        written
    }

    /// Flush all committed changes to the disk.
    pub fn sync_now(&self) -> Result<(), StateError> {
        self.environment.sync()
    }

    fn write(&mut self, sealed: &[Sealed], durability: Durability) -> Result<(), StateError> {
        let Some(last) = sealed.last() else {
            return Ok(());
        };
        let batch = Batch::of(sealed, self.working_mut().tries.rows());
        batch.write(&self.environment, durability)?;
        self.committed = last.head;
        self.working_mut().tries.saved(NODES_KEPT);
        self.overlay.shrink();
        Ok(())
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
