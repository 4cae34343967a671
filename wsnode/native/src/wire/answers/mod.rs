//! Methods that the engine answers without Python, from the text of the parameters to that of the result.

mod replies;
mod state;

pub use replies::{Form, Replies, Room};
pub use state::{write_balance, write_code, write_storage, write_transaction_count};

use alloy_eips::BlockNumHash;
use heed::{RoTxn, WithoutTls};

use crate::chain::tables::{ChainError, ChainTables};
use crate::engine::Engine;
use crate::error::Error;
use crate::evm::call::{Layer, Limits, Scene, Series, Watch};
use crate::json::Writer;
use crate::state::HistoryView;
use crate::wire::parameters;
use crate::wire::parameters::call::CallText;

/// A block with a longer body row is left to those who know how long a reply may be.
const LONGEST_BODY: usize = 256 * 1024;
/// So is one with its transactions: in one text with others it is copied once more, a seventh of 65 us for 84 KB.
const LONGEST_FULL_BODY: usize = 8 * 1024;

/// Such a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    Balance,
    TransactionCount,
    Code,
    StorageAt,
    Transaction,
    Receipt,
    BlockByNumber,
    BlockByHash,
    Call(Limits),
}

impl Read {
    /// The method of this name, if it is one of them; a call's limits are its gas, in gas limits of a block, and its work.
    pub fn named(name: &str, limits: &[u64]) -> Option<Self> {
        Some(match (name, limits) {
            ("eth_getBalance", []) => Self::Balance,
            ("eth_getTransactionCount", []) => Self::TransactionCount,
            ("eth_getCode", []) => Self::Code,
            ("eth_getStorageAt", []) => Self::StorageAt,
            ("eth_getTransactionByHash", []) => Self::Transaction,
            ("eth_getTransactionReceipt", []) => Self::Receipt,
            ("eth_getBlockByNumber", []) => Self::BlockByNumber,
            ("eth_getBlockByHash", []) => Self::BlockByHash,
            ("eth_call", &[gas_blocks, budget]) => Self::Call(Limits { gas_blocks, budget }),
            _ => return None,
        })
    }

    /// Whether an answer may take a hundred times as long as others.
    pub fn may_last(self) -> bool {
        matches!(self, Self::Call(_) | Self::BlockByNumber | Self::BlockByHash)
    }
}

/// Where calls run, once there has been one.
pub type Stage<'m> = Option<Scene<'m>>;

/// One moment of a chain: its state and its tables as of one head.
pub struct Moment<'s, 'm> {
    engine: &'m Engine,
    chain: &'m ChainTables,
    txn: &'m RoTxn<'m, WithoutTls>,
    head: BlockNumHash,
    /// Whether blocks have no members but a node's usual ones.
    is_plain: bool,
    /// The state after the head, once it has been asked for.
    latest: Option<HistoryView<'m>>,
    watch: &'m Watch,
    /// Until there is a series of calls.
    stage: Option<&'s mut Stage<'m>>,
    /// The calls so far.
    series: Option<Series<'s, 'm>>,
}

impl<'s, 'm> Moment<'s, 'm> {
    /// Calls will run on the `stage`, which is empty, under a `watch` with a budget.
    pub fn new(
        engine: &'m Engine,
        chain: &'m ChainTables,
        txn: &'m RoTxn<'m, WithoutTls>,
        (head, is_plain): (BlockNumHash, bool),
        watch: &'m Watch,
        stage: &'s mut Stage<'m>,
    ) -> Self {
        Self { engine, chain, txn, head, is_plain, latest: None, watch, stage: Some(stage), series: None }
    }

    /// Write the result of a call; whether there is one. There is none where anything is unusual, right or wrong, and
    /// `text` may then hold a part of one.
    pub fn write(&mut self, read: Read, params: &[u8], text: &mut Writer) -> bool {
        let account = || parameters::account_parameters(params);
        match read {
            Read::Balance => self.write_state(account(), write_balance, text),
            Read::TransactionCount => self.write_state(account(), write_transaction_count, text),
            Read::Code => self.write_state(account(), write_code, text),
            Read::StorageAt => self.write_state(parameters::slot_parameters(params), write_storage, text),
            Read::Transaction => self.write_found(params, ChainTables::write_transaction, text),
            Read::Receipt => self.write_found(params, ChainTables::write_receipt_or_null, text),
            Read::BlockByNumber => parameters::block_parameters(params)
                .is_some_and(|(block, full)| self.write_block(block.unwrap_or(self.head.number), full, text)),
            Read::BlockByHash => parameters::block_hash_parameters(params).is_some_and(|(hash, full)| {
                let number = self.chain.number_of(self.txn, &hash).unwrap_or(None);
                number.is_some_and(|number| self.write_block(number, full, text))
            }),
            Read::Call(limits) => self.write_call(params, limits, text).is_some(),
        }
    }

    /// Write a block in a node's plain form, if that is the caller's; whether it was written.
    fn write_block(&self, number: u64, full: bool, text: &mut Writer) -> bool {
        let longest = if full { LONGEST_FULL_BODY } else { LONGEST_BODY };
        self.is_plain && self.chain.write_block(self.txn, number, full, longest, text).unwrap_or(false)
    }

    /// Run a call on the head's state, if it is a short one that succeeds.
    fn write_call(&mut self, params: &[u8], limits: Limits, text: &mut Writer) -> Option<()> {
        let CallText { message, block, overrides } = parameters::call::read(params)?;
        if block.is_some_and(|block| block != self.head.number) || !overrides.is_empty() {
            return None;
        }
        if self.series.is_none() {
            self.series = self.begin_series();
        }
        text.quoted_bytes(&self.series.as_mut()?.run(&message, limits)?);
        Some(())
    }

    fn begin_series(&mut self) -> Option<Series<'s, 'm>> {
        let stage = self.stage.take()?;
        let header = self.chain.header(self.txn, self.head.number).ok()??;
        let head = self.head;
        let layer = Layer::Plain(self.latest()?.after(head).ok()?);
        Series::begin(stage.insert(Scene::bare(&self.engine.spec, layer, &header, self.watch))).ok()
    }

    fn write_state<Place>(
        &mut self,
        asked: Option<(Place, Option<u64>)>,
        write: impl FnOnce(&HistoryView<'_>, Place, &mut Writer) -> Result<(), Error>,
        text: &mut Writer,
    ) -> bool {
        let Some((place, block)) = asked else {
            return false;
        };
        match block.filter(|block| *block != self.head.number) {
            None => self.latest().is_some_and(|view| write(view, place, text).is_ok()),
            Some(number) => self.view_after(number).is_some_and(|view| write(&view, place, text).is_ok()),
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
        // Not a separate snapshot: enlarging the map waits for this one to end.
        self.latest()?.after(BlockNumHash { number, hash }).ok()
    }

    fn write_found(&self, params: &[u8], write: WriteFound, text: &mut Writer) -> bool {
        parameters::hash_parameters(params)
            .is_some_and(|hash| write(self.chain, self.txn, &hash, text).unwrap_or(false))
    }
}

type WriteFound = fn(
    &ChainTables,
    &RoTxn<'_, WithoutTls>,
    &alloy_primitives::B256,
    &mut Writer,
) -> Result<bool, ChainError>;
