//! State of a new block's parent, which refuses reads of accounts and code for ArbOS alone.

use alloy_primitives::{Address, B256, U256};
use revm::bytecode::Bytecode;
use revm::state::AccountInfo;
use revm::{Database, DatabaseRef};

use crate::evm::environment::arbos::ArbosWatch;
use crate::state::StateError;

/// View of a state. On a chain with ArbOS, reads of accounts and code that only ArbOS executes fail.
#[derive(Debug)]
pub struct ArbosGuard<V> {
    view: V,
    arbos: Option<ArbosWatch>,
    refusal: Option<StateError>,
}

impl<V> ArbosGuard<V> {
    pub fn new(view: V, arbos: Option<ArbosWatch>) -> Self {
        Self { view, arbos, refusal: None }
    }

    /// Return the error of the last read if it was refused as ArbOS's own, and clear the error.
    pub fn take_refusal(&mut self) -> Option<StateError> {
        self.refusal.take()
    }

    fn watch(
        &mut self,
        check: impl FnOnce(&mut ArbosWatch) -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        let Some(arbos) = &mut self.arbos else { return Ok(()) };
        check(arbos).inspect_err(|error| {
            let StateError::NotExecuted { address, name, kind } = error else { return };
            self.refusal = Some(StateError::NotExecuted { address: *address, name, kind });
        })
    }
}

impl<V: DatabaseRef<Error = StateError>> Database for ArbosGuard<V> {
    type Error = StateError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, StateError> {
        self.watch(|arbos| arbos.check_account(address))?;
        let account = self.view.basic_ref(address)?;
        self.watch(|arbos| arbos.note_account(address, account.as_ref()))?;
        Ok(account)
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, StateError> {
        let code = self.view.code_by_hash_ref(hash)?;
        self.watch(|arbos| arbos.check_code(hash, &code.original_bytes()))?;
        Ok(code)
    }

    fn storage(&mut self, address: Address, slot: U256) -> Result<U256, StateError> {
        self.view.storage_ref(address, slot)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, StateError> {
        self.watch(|arbos| arbos.check_hash())?;
        self.view.block_hash_ref(number)
    }
}
