//! Tables of a chain's store; `docs/reference/storage.md` describes each.
//!
//! ```text
//! totals:     block number (8) -> logs through the block (8) | total difficulty through it, without leading zeros
//! log_blocks: number after the block's last log (8) -> block number (8) | number of its first log (8)
//! ```
//! All numbers are big-endian, so the order of keys is that of numbers.

use crate::chain::rows::RowError;
use crate::store::{ReadTxn, StoreError, Table};
use alloy_primitives::U256;

/// Reason for which a chain's tables cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ChainError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Row(#[from] RowError),
}

/// Snapshot of the store.
pub type Txn<'t> = ReadTxn<'t>;

pub const NAMES: [&str; 11] = [
    "meta",
    "headers",
    "bodies",
    "receipts",
    "totals",
    "numbers",
    "transactions",
    "log_blocks",
    "log_index",
    "side_blocks",
    "access_lists",
];

/// Tables of the canonical blocks.
#[derive(Debug, Clone, Copy)]
pub struct ChainTables {
    pub(super) headers: Table,
    pub(super) bodies: Table,
    pub(super) receipts: Table,
    pub(super) totals: Table,
    pub(super) numbers: Table,
    pub(super) transactions: Table,
    pub(super) log_blocks: Table,
}

/// Sums along the chain through one block: number of logs, and difficulty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    pub logs: u64,
    pub difficulty: U256,
}

impl Totals {
    fn read(row: &[u8]) -> Result<Self, RowError> {
        let (logs, difficulty) = row.split_first_chunk().ok_or(RowError::Corrupt("totals"))?;
        let difficulty = U256::try_from_be_slice(difficulty).ok_or(RowError::Corrupt("total difficulty"))?;
        Ok(Self { logs: u64::from_be_bytes(*logs), difficulty })
    }

    pub(super) fn row(&self) -> Vec<u8> {
        [&self.logs.to_be_bytes()[..], &self.difficulty.to_be_bytes_trimmed_vec()].concat()
    }
}

/// Block with logs: its number, the number of its first log in the chain, and the number after its last log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogBlock {
    pub number: u64,
    pub first: u64,
    pub end: u64,
}

impl LogBlock {
    fn read((key, value): (&[u8], &[u8])) -> Option<Self> {
        let (number, first) = value.split_first_chunk::<8>()?;
        let [end, number, first] = [key.first_chunk::<8>()?, number, first.first_chunk::<8>()?];
        let number_of = |bytes: &[u8; 8]| u64::from_be_bytes(*bytes);
        Some(Self { number: number_of(number), first: number_of(first), end: number_of(end) })
    }

    /// Return the block's key and value; the key is `end`, so that one seek from a log finds its block.
    pub(super) fn row(&self) -> ([u8; 8], [u8; 16]) {
        let mut value = [0; 16];
        value[..8].copy_from_slice(&self.number.to_be_bytes());
        value[8..].copy_from_slice(&self.first.to_be_bytes());
        (self.end.to_be_bytes(), value)
    }
}

impl ChainTables {
    /// Return the chain's tables among those of a store, or None if one is missing.
    pub fn among(names: &[String]) -> Option<Self> {
        let named = |wanted| names.iter().position(|name| name == wanted).map(Table::at);
        let [_, headers, bodies, receipts, totals, numbers, transactions, log_blocks, ..] = NAMES.map(named);
        Some(Self {
            headers: headers?,
            bodies: bodies?,
            receipts: receipts?,
            totals: totals?,
            numbers: numbers?,
            transactions: transactions?,
            log_blocks: log_blocks?,
        })
    }

    /// Return the totals through canonical block `number`; None if it is not stored.
    pub fn totals(&self, txn: &Txn<'_>, number: u64) -> Result<Option<Totals>, ChainError> {
        let row = self.totals.get(txn, &number.to_be_bytes())?;
        Ok(row.map(Totals::read).transpose()?)
    }

    /// Return the totals through block `number`, canonical or just below the first; a missing row is an
    /// error.
    pub fn totals_through(&self, txn: &Txn<'_>, number: u64) -> Result<Totals, ChainError> {
        Ok(Totals::read(self.totals.require(txn, &number.to_be_bytes())?)?)
    }

    /// Return the totals before block `number`, of which the parent is canonical; zeros before the genesis
    /// block.
    pub fn totals_before(&self, txn: &Txn<'_>, number: u64) -> Result<Totals, ChainError> {
        match number.checked_sub(1) {
            Some(parent) => self.totals_through(txn, parent),
            None => Ok(Totals::default()),
        }
    }

    /// Return the totals before canonical block `number`, and the totals through it.
    pub(super) fn totals_around(&self, txn: &Txn<'_>, number: u64) -> Result<(Totals, Totals), ChainError> {
        Ok((self.totals_before(txn, number)?, self.totals_through(txn, number)?))
    }

    /// Return the block of the log with this number in the chain; a missing row is an error.
    pub fn block_of_log(&self, txn: &Txn<'_>, log: u64) -> Result<LogBlock, ChainError> {
        let behind = (log + 1).to_be_bytes();
        let found = self.log_blocks.at_or_after(txn, &behind)?;
        match found.and_then(LogBlock::read) {
            Some(block) if block.first <= log => Ok(block),
            _ => Err(self.log_blocks.missing(txn, &behind).into()),
        }
    }
}
