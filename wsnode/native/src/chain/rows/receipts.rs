//! Receipts row: outcomes, gas, blooms and logs of a block's transactions.
//!
//! ```text
//! 0 version | 1 receipts n (4) | 5 logs m (4) | ends of the receipts (4 n) | ends of the logs (4 m)
//! | receipts | logs | deposits
//! receipt: outcome (1) | cumulative gas used (8) | logs of the receipts before (4) | state root (32) if the outcome
//!          is one | bloom: set bits (2 each), or all 256 bytes
//! log:     transaction index (4) | topics (1) | address (20) | topics (32 each) | data
//! deposit: nonce (8) | version (8)
//! ```
//! Ends count from the first byte of the first receipt, or of the first log. Deposits of the OP stack are the first
//! transactions of a block; the members that only their receipts have, from Canyon on, are at the end. A bloom of a few
//! logs has few bits set: storing their positions costs 24 bytes a log of three topics, recomputing them 1.2 us.

use alloy_primitives::{Address, B256};

use super::read::{address_at, byte, check_version, hash_at, range, slice, u32_at, u64_at};
use super::{RowError, StoredBloom};

pub(super) const VERSION: u8 = 1;
pub(super) const RECEIPT_ENDS: usize = 9;
pub(super) const DEPOSIT: usize = 16;
pub(super) const FAILURE: u8 = 0;
pub(super) const SUCCESS: u8 = 1;
pub(super) const STATE_ROOT: u8 = 2;

/// Outcome of a transaction: success or failure, or before Byzantium only the state root after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiptOutcome<'a> {
    Success,
    Failure,
    StateRoot(&'a B256),
}

#[derive(Debug, Clone, Copy)]
pub struct ReceiptRow<'a> {
    pub outcome: ReceiptOutcome<'a>,
    pub cumulative_gas_used: u64,
    pub gas_used: u64,
    pub bloom: StoredBloom<'a>,
    /// Number within the block of the receipt's first log; `end_log` is the number after its last.
    pub first_log: usize,
    pub end_log: usize,
    pub deposit: Option<DepositReceipt>,
}

/// Members that only the receipt of a deposit has, from Canyon on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DepositReceipt {
    pub nonce: u64,
    pub version: u64,
}

#[derive(Debug, Clone, Copy)]
pub struct LogRow<'a> {
    pub transaction_index: usize,
    pub address: &'a Address,
    /// Topics of the log, 32 bytes each.
    pub topics: &'a [u8],
    pub data: &'a [u8],
}

/// Receipts row, read in place.
#[derive(Debug, Clone, Copy)]
pub struct ReceiptsRow<'a> {
    row: &'a [u8],
    receipts: usize,
    logs: usize,
    receipts_start: usize,
    logs_start: usize,
}

impl<'a> ReceiptsRow<'a> {
    pub fn new(row: &'a [u8]) -> Result<Self, RowError> {
        check_version(row, "receipts", VERSION)?;
        let (receipts, logs) = (u32_at(row, 1)?, u32_at(row, 5)?);
        let receipts_start = RECEIPT_ENDS + 4 * (receipts + logs);
        let length = if receipts == 0 { 0 } else { u32_at(row, RECEIPT_ENDS + 4 * (receipts - 1))? };
        slice(row, receipts_start, length)?;
        Ok(Self { row, receipts, logs, receipts_start, logs_start: receipts_start + length })
    }

    pub fn receipt_count(&self) -> usize {
        self.receipts
    }

    pub fn log_count(&self) -> usize {
        self.logs
    }

    /// Return the receipt at `index`; None beyond the last.
    pub fn receipt(&self, index: usize) -> Result<Option<ReceiptRow<'a>>, RowError> {
        if index >= self.receipts {
            return Ok(None);
        }
        let record = self.record(index)?;
        let has_root = byte(record, 0)? == STATE_ROOT;
        let cumulative_gas_used = u64_at(record, 1)?;
        Ok(Some(ReceiptRow {
            outcome: outcome(record)?,
            cumulative_gas_used,
            gas_used: cumulative_gas_used.wrapping_sub(self.gas_used_before(index)?),
            bloom: StoredBloom::new(range(record, if has_root { 45 } else { 13 }, record.len())?)?,
            first_log: u32_at(record, 9)?,
            end_log: self.end_log(index)?,
            deposit: self.deposit(index)?,
        }))
    }

    /// Return the log with `number` within the block; None beyond the last.
    #[inline]
    pub fn log(&self, number: usize) -> Result<Option<LogRow<'a>>, RowError> {
        if number >= self.logs {
            return Ok(None);
        }
        let ends = RECEIPT_ENDS + 4 * self.receipts;
        let start = if number == 0 { 0 } else { u32_at(self.row, ends + 4 * (number - 1))? };
        let end = u32_at(self.row, ends + 4 * number)?;
        log_row(range(self.row, self.logs_start + start, self.logs_start + end)?).map(Some)
    }

    pub fn log_rows(self) -> impl Iterator<Item = Result<LogRow<'a>, RowError>> {
        (0..self.logs).map_while(move |number| self.log(number).transpose())
    }

    /// Return the members that only the receipt of a deposit has, of the receipt at `index`; None for other
    /// receipts.
    pub fn deposit(&self, index: usize) -> Result<Option<DepositReceipt>, RowError> {
        let logs = match self.logs {
            0 => 0,
            count => u32_at(self.row, RECEIPT_ENDS + 4 * (self.receipts + count - 1))?,
        };
        let start = self.logs_start + logs + DEPOSIT * index;
        if start >= self.row.len() {
            return Ok(None);
        }
        Ok(Some(DepositReceipt { nonce: u64_at(self.row, start)?, version: u64_at(self.row, start + 8)? }))
    }

    fn record(&self, index: usize) -> Result<&'a [u8], RowError> {
        let start = if index == 0 { 0 } else { u32_at(self.row, RECEIPT_ENDS + 4 * (index - 1))? };
        let end = u32_at(self.row, RECEIPT_ENDS + 4 * index)?;
        range(self.row, self.receipts_start + start, self.receipts_start + end)
    }

    fn gas_used_before(&self, index: usize) -> Result<u64, RowError> {
        if index == 0 {
            return Ok(0);
        }
        u64_at(self.record(index - 1)?, 1)
    }

    fn end_log(&self, index: usize) -> Result<usize, RowError> {
        if index + 1 == self.receipts {
            return Ok(self.logs);
        }
        u32_at(self.record(index + 1)?, 9)
    }
}

fn outcome(record: &[u8]) -> Result<ReceiptOutcome<'_>, RowError> {
    match byte(record, 0)? {
        FAILURE => Ok(ReceiptOutcome::Failure),
        SUCCESS => Ok(ReceiptOutcome::Success),
        STATE_ROOT => hash_at(record, 13).map(ReceiptOutcome::StateRoot),
        _ => Err(RowError::Corrupt("outcome")),
    }
}

#[inline]
fn log_row(record: &[u8]) -> Result<LogRow<'_>, RowError> {
    let topics = 32 * byte(record, 4)? as usize;
    Ok(LogRow {
        transaction_index: u32_at(record, 0)?,
        address: address_at(record, 5)?,
        topics: slice(record, 25, topics)?,
        data: range(record, 25 + topics, record.len())?,
    })
}
