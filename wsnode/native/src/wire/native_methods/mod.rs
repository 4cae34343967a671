//! Native methods: answered by the engine without Python, from the text of the parameters to the text of the
//! result.

mod replies;
mod state;

pub use replies::{Attempts, Replies, ReplyFormat, ReplyLimits};

use alloy_eips::BlockNumHash;
use alloy_primitives::{Address, B256, U256};

use crate::chain::tables::{ChainError, ChainTables, Txn};
use crate::engine::Engine;
use crate::error::Error;
use crate::evm::call::{CallBatch, CallEnv, CallLimits, Layer, WorkBudget};
use crate::json::Writer;
use crate::state::HistoryView;
use crate::wire::parameters;
use crate::wire::parameters::call::CallText;

/// Longest body row in bytes of a block that is written here. Beyond it Python answers, where the bound of a
/// reply is known.
const MAX_BODY: usize = 256 * 1024;
/// Longest body row in bytes of a block with transaction objects. Its text among others is copied once more,
/// a seventh of 65 us for 84 KB.
const MAX_FULL_BODY: usize = 8 * 1024;

/// Methods without limits of their own: name, and kind with its reader.
const METHODS: &[(&str, NativeMethod)] = &[
    ("eth_getBalance", NativeMethod::Account(state::write_balance)),
    ("eth_getTransactionCount", NativeMethod::Account(state::write_transaction_count)),
    ("eth_getCode", NativeMethod::Account(state::write_code)),
    ("eth_getStorageAt", NativeMethod::Slot(state::write_storage)),
    ("eth_getTransactionByHash", NativeMethod::Found(ChainTables::write_transaction)),
    ("eth_getTransactionReceipt", NativeMethod::Found(ChainTables::write_receipt_or_null)),
    ("eth_getBlockByNumber", NativeMethod::BlockByNumber),
    ("eth_getBlockByHash", NativeMethod::BlockByHash),
];

type WriteState<Key> = fn(&HistoryView<'_>, Key, &mut Writer) -> Result<(), Error>;
type WriteFound = fn(&ChainTables, &Txn<'_>, &B256, &mut Writer) -> Result<bool, ChainError>;

/// Native method: the form of its parameters, and the function that writes its result.
#[derive(Debug, Clone, Copy)]
pub enum NativeMethod {
    /// Parameters `[address, block]`.
    Account(WriteState<Address>),
    /// Parameters `[address, slot, block]`.
    Slot(WriteState<(Address, U256)>),
    /// Parameters `[hash]`.
    Found(WriteFound),
    BlockByNumber,
    BlockByHash,
    Call(CallLimits),
}

impl NativeMethod {
    /// Return the method with this name, None if it is unknown or `limits` do not fit it. `eth_call` has two:
    /// its gas as a multiple of a block's gas limit, and its work in jumps of the EVM. Others have none.
    pub fn named(name: &str, limits: &[u64]) -> Option<Self> {
        match (name, limits) {
            ("eth_call", &[gas_blocks, budget]) => Some(Self::Call(CallLimits { gas_blocks, budget })),
            (_, []) => METHODS.iter().find(|(known, _)| *known == name).map(|(_, read)| *read),
            _ => None,
        }
    }

    /// Return whether an answer runs code in the EVM.
    pub fn is_run(self) -> bool {
        matches!(self, Self::Call(_))
    }

    /// Return whether an answer may take a hundred times as long as others.
    pub fn may_be_slow(self) -> bool {
        matches!(self, Self::Call(_) | Self::BlockByNumber | Self::BlockByHash)
    }
}

/// Environment of calls, created by the first call.
pub type LazyEnv<'m> = Option<CallEnv<'m>>;

/// Snapshot of a chain: its state and its tables after one head.
pub struct HeadSnapshot<'s, 'm> {
    engine: &'m Engine,
    chain: &'m ChainTables,
    txn: &'m Txn<'m>,
    head: BlockNumHash,
    /// True if blocks have the standard members only.
    is_plain: bool,
    /// State after the head, from its first read on.
    latest: Option<HistoryView<'m>>,
    work_budget: &'m WorkBudget,
    /// Place for the environment of calls, until the batch of calls begins.
    env: Option<&'s mut LazyEnv<'m>>,
    /// Series of the calls so far.
    batch: Option<CallBatch<'s, 'm>>,
}

impl<'s, 'm> HeadSnapshot<'s, 'm> {
    /// Return the snapshot. Calls run on `env`, which must be empty, and under `work_budget`. The budget must
    /// be bounded.
    pub fn new(
        engine: &'m Engine,
        chain: &'m ChainTables,
        txn: &'m Txn<'m>,
        (head, is_plain): (BlockNumHash, bool),
        work_budget: &'m WorkBudget,
        env: &'s mut LazyEnv<'m>,
    ) -> Self {
        Self { engine, chain, txn, head, is_plain, latest: None, work_budget, env: Some(env), batch: None }
    }

    /// Write the result of a call and return true. Return false if anything is unusual, valid or not; `text`
    /// may then hold a part of a result.
    pub fn write(&mut self, read: NativeMethod, params: &[u8], text: &mut Writer) -> bool {
        match read {
            NativeMethod::Account(write) => {
                self.write_state(parameters::account_parameters(params), write, text)
            }
            NativeMethod::Slot(write) => self.write_state(parameters::slot_parameters(params), write, text),
            NativeMethod::Found(write) => parameters::hash_parameters(params)
                .is_some_and(|hash| write(self.chain, self.txn, &hash, text).unwrap_or(false)),
            NativeMethod::BlockByNumber => parameters::block_parameters(params)
                .is_some_and(|(block, full)| self.write_block(block.unwrap_or(self.head.number), full, text)),
            NativeMethod::BlockByHash => {
                parameters::block_hash_parameters(params).is_some_and(|(hash, full)| {
                    let number = self.chain.number_of(self.txn, &hash).unwrap_or(None);
                    number.is_some_and(|number| self.write_block(number, full, text))
                })
            }
            NativeMethod::Call(limits) => self.write_call(params, limits, text).is_some(),
        }
    }

    /// Write a block in the standard form, and return whether it was written.
    fn write_block(&self, number: u64, full: bool, text: &mut Writer) -> bool {
        let longest = if full { MAX_FULL_BODY } else { MAX_BODY };
        self.is_plain && self.chain.write_block(self.txn, number, full, longest, text).unwrap_or(false)
    }

    /// Run a call on the head's state and write its result. None if it is long, or does not succeed.
    fn write_call(&mut self, params: &[u8], limits: CallLimits, text: &mut Writer) -> Option<()> {
        let CallText { message, block, overrides } = parameters::call::read(params)?;
        if block.is_some_and(|block| block != self.head.number) || !overrides.is_empty() {
            return None;
        }
        if self.batch.is_none() {
            self.batch = self.begin_batch();
        }
        text.quoted_bytes(&self.batch.as_mut()?.run(&message, limits)?);
        Some(())
    }

    fn begin_batch(&mut self) -> Option<CallBatch<'s, 'm>> {
        let env = self.env.take()?;
        let header = self.chain.header(self.txn, self.head.number).ok()??;
        let head = self.head;
        let layer = Layer::Plain(self.latest()?.after(head).ok()?);
        CallBatch::begin(env.insert(CallEnv::without_overrides(
            &self.engine.spec,
            layer,
            &header,
            self.work_budget,
        )))
        .ok()
    }

    fn write_state<Key>(
        &mut self,
        asked: Option<(Key, Option<u64>)>,
        write: WriteState<Key>,
        text: &mut Writer,
    ) -> bool {
        let Some((key, block)) = asked else {
            return false;
        };
        match block.filter(|block| *block != self.head.number) {
            None => self.latest().is_some_and(|view| write(view, key, text).is_ok()),
            Some(number) => self.view_after(number).is_some_and(|view| write(&view, key, text).is_ok()),
        }
    }

    fn latest(&mut self) -> Option<&HistoryView<'m>> {
        if self.latest.is_none() {
            self.latest = self.engine.reader.at(self.head).ok();
        }
        self.latest.as_ref()
    }

    fn view_after(&mut self, number: u64) -> Option<HistoryView<'m>> {
        let hash = self.chain.block_hash(self.txn, number).ok()??;
        // The view shares the snapshot of `latest`. A separate snapshot might have to enlarge the map, which
        // waits for this snapshot to end.
        self.latest()?.after(BlockNumHash { number, hash }).ok()
    }
}
