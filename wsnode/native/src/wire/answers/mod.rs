//! Methods that the engine answers without Python, from the text of the parameters to that of the result.

mod replies;
mod state;

pub use replies::{Form, Replies, Room};
pub use state::{write_balance, write_code, write_storage, write_transaction_count};

use alloy_eips::BlockNumHash;
use heed::{RoTxn, WithoutTls};

use crate::chain::tables::{ChainError, ChainTables};
use crate::error::Error;
use crate::json::Writer;
use crate::state::{HistoryView, StateReader};
use crate::wire::parameters;

/// Such a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    Balance,
    TransactionCount,
    Code,
    StorageAt,
    Transaction,
    Receipt,
}

impl Read {
    /// The method of this name, if it is one of them.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "eth_getBalance" => Self::Balance,
            "eth_getTransactionCount" => Self::TransactionCount,
            "eth_getCode" => Self::Code,
            "eth_getStorageAt" => Self::StorageAt,
            "eth_getTransactionByHash" => Self::Transaction,
            "eth_getTransactionReceipt" => Self::Receipt,
            _ => return None,
        })
    }
}

/// One moment of a chain: its state and its tables as of one head.
pub struct Moment<'m> {
    state: &'m StateReader,
    chain: &'m ChainTables,
    txn: &'m RoTxn<'m, WithoutTls>,
    head: BlockNumHash,
    /// The state after the head, once it has been asked for.
    latest: Option<HistoryView<'m>>,
}

impl<'m> Moment<'m> {
    pub fn new(
        state: &'m StateReader,
        chain: &'m ChainTables,
        txn: &'m RoTxn<'m, WithoutTls>,
        head: BlockNumHash,
    ) -> Self {
        Self { state, chain, txn, head, latest: None }
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
        }
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
            self.latest = self.state.at(self.head).ok();
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
