//! State of a call: the state after a block, with the overrides of the call.

use alloy_primitives::{Address, B256, U256};
use revm::bytecode::Bytecode;
use revm::database::{AccountState, CacheDB};
use revm::primitives::hardfork::SpecId;
use revm::primitives::KECCAK_EMPTY;
use revm::state::{AccountInfo, EvmState};
use revm::{Database, DatabaseCommit, DatabaseRef};

use super::interrupt::cost;
use super::{Read, Reads, WorkBudget};
use crate::evm::chain_spec::ChainSpec;
use crate::evm::environment::arbos::ArbosWatch;
use crate::state::{HistoryView, StateError};

/// Database of a call, and the work budget of its run, which instructions reach through the database.
#[derive(Debug)]
pub struct CallState<'a> {
    pub layer: Layer<'a>,
    pub work_budget: &'a WorkBudget,
    /// Number from which on blocks have no hash in the run, also if an override raises the number of the
    /// block.
    pub named_below: u64,
    arbos: Option<ArbosWatch>,
    /// Values that runs read, or None if the caller does not need them.
    pub reads: Option<Reads>,
}

/// State without or with a cache of its own. A single call reads few values twice, so that a cache would cost
/// more than it saves.
#[derive(Debug)]
pub enum Layer<'a> {
    Plain(HistoryView<'a>),
    Cached(Box<CacheDB<HistoryView<'a>>>),
}

impl<'a> Layer<'a> {
    /// Return the layer that can hold changes, with a cache.
    pub fn cached(self) -> Self {
        match self {
            Self::Plain(view) => Self::Cached(Box::new(CacheDB::new(view))),
            cached => cached,
        }
    }
}

/// Keep the changes of a run. An account that was absent before the run does not regain its old slots from
/// the store.
pub fn commit(values: &mut CacheDB<HistoryView<'_>>, changes: EvmState) {
    let is_absent = |address: &Address| {
        let account = values.cache.accounts.get(address);
        account.is_some_and(|account| account.account_state == AccountState::NotExisting)
    };
    let reborn: Vec<_> = changes.keys().copied().filter(is_absent).collect();
    values.commit(changes);
    for address in reborn {
        if let Some(account) = values.cache.accounts.get_mut(&address) {
            if account.account_state == AccountState::Touched {
                account.account_state = AccountState::StorageCleared;
            }
        }
    }
}

impl<'a> CallState<'a> {
    /// Return the state for runs by `rules`, without overrides.
    pub fn new(layer: Layer<'a>, work_budget: &'a WorkBudget, spec: &ChainSpec, rules: SpecId) -> Self {
        Self { layer, work_budget, named_below: u64::MAX, arbos: ArbosWatch::of(spec, rules), reads: None }
    }

    fn note(&mut self, read: Read) {
        if let Some(reads) = &mut self.reads {
            reads.note(read);
        }
    }

    /// Record a read of the nonce that an account had before the run.
    pub fn note_nonce(&mut self, address: Address) {
        let Some(reads) = &mut self.reads else { return };
        match self.layer.basic_ref(address) {
            Ok(account) => reads.note(Read::Nonce(address, account.map_or(0, |account| account.nonce))),
            Err(_) => reads.give_up(),
        }
    }

    /// Charge one read of the state.
    ///
    /// # Errors
    /// `StateError::Cancelled` if the work budget is used up.
    fn count_read(&self) -> Result<(), StateError> {
        if self.work_budget.has_budget() && !self.work_budget.charge(cost::READ) {
            return Err(StateError::Cancelled);
        }
        Ok(())
    }
}

impl Database for CallState<'_> {
    type Error = StateError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, StateError> {
        self.count_read()?;
        if let Some(arbos) = &self.arbos {
            arbos.check_account(address)?;
        }
        let account = match &mut self.layer {
            Layer::Plain(view) => view.basic_ref(address),
            Layer::Cached(cache) => cache.basic(address),
        }?;
        if let Some(arbos) = &mut self.arbos {
            arbos.note_account(address, account.as_ref())?;
        }
        let code = account.as_ref().map_or(KECCAK_EMPTY, |account| account.code_hash);
        self.note(Read::Code(address, code));
        Ok(account)
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, StateError> {
        self.count_read()?;
        let code = match &mut self.layer {
            Layer::Plain(view) => view.code_by_hash_ref(hash),
            Layer::Cached(cache) => cache.code_by_hash(hash),
        }?;
        if let Some(arbos) = &self.arbos {
            arbos.check_code(hash, &code.original_bytes())?;
        }
        Ok(code)
    }

    fn storage(&mut self, address: Address, slot: U256) -> Result<U256, StateError> {
        self.count_read()?;
        self.note(Read::Slot(address, slot));
        match &mut self.layer {
            Layer::Plain(view) => view.storage_ref(address, slot),
            Layer::Cached(cache) => cache.storage(address, slot),
        }
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, StateError> {
        self.count_read()?;
        if let Some(arbos) = &self.arbos {
            arbos.check_hash()?;
        }
        if number >= self.named_below {
            return Ok(B256::ZERO);
        }
        match &mut self.layer {
            Layer::Plain(view) => view.block_hash_ref(number),
            Layer::Cached(cache) => cache.block_hash(number),
        }
    }
}

impl DatabaseRef for Layer<'_> {
    type Error = StateError;

    fn basic_ref(&self, address: Address) -> Result<Option<AccountInfo>, StateError> {
        match self {
            Self::Plain(view) => view.basic_ref(address),
            Self::Cached(cache) => cache.basic_ref(address),
        }
    }

    fn code_by_hash_ref(&self, hash: B256) -> Result<Bytecode, StateError> {
        match self {
            Self::Plain(view) => view.code_by_hash_ref(hash),
            Self::Cached(cache) => cache.code_by_hash_ref(hash),
        }
    }

    fn storage_ref(&self, address: Address, slot: U256) -> Result<U256, StateError> {
        match self {
            Self::Plain(view) => view.storage_ref(address, slot),
            Self::Cached(cache) => cache.storage_ref(address, slot),
        }
    }

    fn block_hash_ref(&self, number: u64) -> Result<B256, StateError> {
        match self {
            Self::Plain(view) => view.block_hash_ref(number),
            Self::Cached(cache) => cache.block_hash_ref(number),
        }
    }
}
