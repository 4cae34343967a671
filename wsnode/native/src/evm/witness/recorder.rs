//! State that records its reads.

use std::cell::RefCell;

use alloy_primitives::map::{B256Map, B256Set};
use alloy_primitives::{Address, Bytes, B256, U256};
use alloy_trie::KECCAK_EMPTY;
use revm::bytecode::Bytecode;
use revm::database::BundleState;
use revm::state::AccountInfo;
use revm::DatabaseRef;

use crate::state::{Bounds, HistoryView, StateError, StateRead};

/// Reads of a block in its parent's state.
#[derive(Debug)]
pub struct RecordedReads {
    pub state: StateRead,
    pub codes: B256Map<Bytes>,
    /// Code hashes of the accounts.
    held: B256Set,
    /// Number of the oldest block whose hash was read, or of the parent.
    pub oldest: u64,
    bytes: usize,
    /// Error that ended the reads.
    failure: Option<StateError>,
}

impl RecordedReads {
    /// Add code that an account already had, if the block created equal code again. A run then reads the
    /// created copy, and the read of the account's own code is not recorded.
    pub fn add_made_again(&mut self, made: &BundleState) {
        for (hash, code) in made.contracts.iter().filter(|(hash, _)| self.held.contains(*hash)) {
            self.codes.entry(*hash).or_insert_with(|| code.original_bytes());
        }
        self.codes.remove(&KECCAK_EMPTY);
    }

    pub fn sorted_codes(&self) -> Vec<Bytes> {
        let mut codes: Vec<_> = self.codes.values().cloned().collect();
        codes.sort_unstable();
        codes
    }
}

/// State after a block, with recorded reads within bounds.
#[derive(Debug)]
pub struct WitnessRecorder<'s> {
    view: HistoryView<'s>,
    bounds: Bounds<'s>,
    recorded: RefCell<RecordedReads>,
}

impl<'s> WitnessRecorder<'s> {
    pub fn new(view: HistoryView<'s>, parent: u64, bounds: Bounds<'s>) -> Self {
        let (state, codes, held) = <_>::default();
        let recorded =
            RefCell::new(RecordedReads { state, codes, held, oldest: parent, bytes: 0, failure: None });
        Self { view, bounds, recorded }
    }

    /// Return the reads, or the error of the bound that ended them. The EVM passes on only the error's text.
    pub fn finish(self) -> Result<RecordedReads, StateError> {
        let mut recorded = self.recorded.into_inner();
        match recorded.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(recorded),
        }
    }

    fn check(&self) -> Result<(), StateError> {
        let checked =
            self.bounds.check().and_then(|()| self.bounds.check_found(self.recorded.borrow().bytes));
        checked.map_err(|failure| {
            let words = StateError::Corrupt(failure.to_string());
            self.recorded.borrow_mut().failure.get_or_insert(failure);
            words
        })
    }
}

impl DatabaseRef for WitnessRecorder<'_> {
    type Error = StateError;

    fn basic_ref(&self, address: Address) -> Result<Option<AccountInfo>, StateError> {
        self.check()?;
        let account = self.view.basic_ref(address)?;
        let mut recorded = self.recorded.borrow_mut();
        recorded.state.entry(address).or_default();
        recorded.held.extend(account.as_ref().map(|account| account.code_hash));
        Ok(account)
    }

    fn code_by_hash_ref(&self, hash: B256) -> Result<Bytecode, StateError> {
        self.check()?;
        let code = self.view.code_by_hash_ref(hash)?;
        let bytes = code.original_bytes();
        let mut recorded = self.recorded.borrow_mut();
        if !recorded.codes.contains_key(&hash) {
            recorded.bytes += bytes.len();
            recorded.codes.insert(hash, bytes);
        }
        Ok(code)
    }

    fn storage_ref(&self, address: Address, slot: U256) -> Result<U256, StateError> {
        self.check()?;
        self.recorded.borrow_mut().state.entry(address).or_default().insert(slot);
        self.view.storage_ref(address, slot)
    }

    fn block_hash_ref(&self, number: u64) -> Result<B256, StateError> {
        let mut recorded = self.recorded.borrow_mut();
        recorded.oldest = recorded.oldest.min(number);
        self.view.block_hash_ref(number)
    }
}
