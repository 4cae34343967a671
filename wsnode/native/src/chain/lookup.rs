//! Transactions by their hashes and logs by their numbers, straight from the chain's tables.

use alloy_consensus::Header;
use alloy_primitives::B256;

use super::tables::{ChainError, ChainTables, LogBlock, Txn};
use crate::chain::rows::{locations, lookup_key, BodyRow, Criteria, HeaderRow, ReceiptsRow, RowError};
use crate::json::{self, BlockContext, BlockStyle, LogSelection, TotalDifficulty, Writer};

/// A canonical transaction: its block's key and body row, and its index there.
pub struct TransactionLocation<'t> {
    pub key: [u8; 8],
    pub index: usize,
    body: BodyRow<'t>,
}

/// What it costs to come to a block's logs, in logs that are compared.
const LOGS_A_BLOCK: usize = 32;

/// Logs of a block by their ascending numbers in it.
pub type Matches = (u64, Vec<u64>);

impl ChainTables {
    /// The hash of a canonical block.
    pub fn block_hash(&self, txn: &Txn<'_>, number: u64) -> Result<Option<B256>, ChainError> {
        let Some(row) = self.headers.get(txn, &number.to_be_bytes())? else {
            return Ok(None);
        };
        Ok(Some(*HeaderRow::new(row)?.hash()))
    }

    /// The header of a canonical block.
    pub fn header(&self, txn: &Txn<'_>, number: u64) -> Result<Option<Header>, ChainError> {
        let row = self.headers.get(txn, &number.to_be_bytes())?;
        Ok(row.map(|row| HeaderRow::new(row)?.header()).transpose()?)
    }

    /// The number of a canonical block.
    pub fn number_of(&self, txn: &Txn<'_>, hash: &B256) -> Result<Option<u64>, ChainError> {
        let key = self.numbers.get(txn, hash.as_slice())?;
        Ok(key.and_then(|key| key.try_into().ok()).map(u64::from_be_bytes))
    }

    /// Write a canonical block, unless its body row is longer than `longest`; whether it was written.
    pub fn write_block(
        &self,
        txn: &Txn<'_>,
        number: u64,
        full: bool,
        longest: usize,
        text: &mut Writer,
    ) -> Result<bool, ChainError> {
        let key = number.to_be_bytes();
        let (Some(header), Some(body)) = (self.headers.get(txn, &key)?, self.bodies.get(txn, &key)?) else {
            return Ok(false);
        };
        if body.len() > longest {
            return Ok(false);
        }
        let style = BlockStyle { full, pending: false, total_difficulty: TotalDifficulty::Absent };
        json::render_block(text, &HeaderRow::new(header)?, &BodyRow::new(body)?, &style)?;
        Ok(true)
    }

    /// Where a transaction lies, if it is a canonical one.
    pub fn location<'t>(
        &self,
        txn: &'t Txn<'_>,
        hash: &B256,
    ) -> Result<Option<TransactionLocation<'t>>, ChainError> {
        let listed = self.transactions.get(txn, lookup_key(hash))?.unwrap_or_default();
        for (key, index) in locations(listed) {
            let body = BodyRow::new(self.bodies.require(txn, &key)?)?;
            if body.transaction_hash(index)? == Some(hash) {
                return Ok(Some(TransactionLocation { key, index, body }));
            }
        }
        Ok(None)
    }

    /// Write a canonical transaction; whether there is one.
    pub fn write_transaction(
        &self,
        txn: &Txn<'_>,
        hash: &B256,
        text: &mut Writer,
    ) -> Result<bool, ChainError> {
        let Some(TransactionLocation { key, index, body }) = self.location(txn, hash)? else {
            return Ok(false);
        };
        let Some(header) = self.headers.get(txn, &key)? else {
            return Ok(false);
        };
        Ok(json::render_transaction(text, &HeaderRow::new(header)?, &body, index, false)?)
    }

    /// Write the receipt of a canonical transaction; whether there is one.
    pub fn write_receipt(&self, txn: &Txn<'_>, hash: &B256, text: &mut Writer) -> Result<bool, ChainError> {
        let Some(TransactionLocation { key, index, body }) = self.location(txn, hash)? else {
            return Ok(false);
        };
        let (Some(header), Some(receipts)) = (self.headers.get(txn, &key)?, self.receipts.get(txn, &key)?)
        else {
            return Ok(false);
        };
        Ok(json::render_receipt(text, &HeaderRow::new(header)?, &body, &ReceiptsRow::new(receipts)?, index)?)
    }

    /// Write the receipt of a transaction, or null for an unknown hash.
    pub fn write_receipt_or_null(
        &self,
        txn: &Txn<'_>,
        hash: &B256,
        text: &mut Writer,
    ) -> Result<bool, ChainError> {
        if !self.write_receipt(txn, hash, text)? {
            text.fixed(b"null");
        }
        Ok(true)
    }

    /// Those of the logs numbered `begin` to before `end` that match, by block, and the number of the log behind the last
    /// one that was compared: `most` of them at the most, where a block counts as `LOGS_A_BLOCK` logs.
    pub fn matching_logs(
        &self,
        txn: &Txn<'_>,
        criteria: &Criteria,
        (begin, end): (u64, u64),
        most: usize,
    ) -> Result<(Vec<Matches>, u64), ChainError> {
        let (mut found, mut log, mut left) = (Vec::new(), begin, most);
        while log < end && left > 0 {
            let block = self.block_of_log(txn, log)?;
            let stop = block.end.min(end).min(log.saturating_add(left as u64));
            let numbers = self.matches_in(txn, criteria, block, (log, stop))?;
            if !numbers.is_empty() {
                found.push((block.number, numbers));
            }
            left = left.saturating_sub(LOGS_A_BLOCK + (stop - log) as usize);
            log = stop;
        }
        Ok((found, log))
    }

    /// The numbers within `block` of those of its logs `begin` to before `end` that match.
    fn matches_in(
        &self,
        txn: &Txn<'_>,
        criteria: &Criteria,
        block: LogBlock,
        (begin, end): (u64, u64),
    ) -> Result<Vec<u64>, ChainError> {
        let key = block.number.to_be_bytes();
        let receipts = ReceiptsRow::new(self.receipts.require(txn, &key)?)?;
        let mut numbers = Vec::new();
        for number in begin - block.first..end - block.first {
            let log = receipts.log(number as usize)?.ok_or(RowError::Corrupt("a log is not there"))?;
            if criteria.matches(&log) {
                numbers.push(number);
            }
        }
        Ok(numbers)
    }

    /// Write logs of canonical blocks, separated by commas: those of these indices in their block, or all.
    pub fn write_logs(
        &self,
        txn: &Txn<'_>,
        blocks: Vec<(u64, Option<Vec<usize>>)>,
        text: &mut Writer,
    ) -> Result<(), ChainError> {
        let mut separate = false;
        for (number, numbers) in blocks {
            let selection = self.selection(txn, number, numbers)?;
            json::render_logs(text, &selection, separate)?;
            separate |= selection.count() > 0;
        }
        Ok(())
    }

    /// Give `take` the text of each of these logs, in their order, until one with a comma exceeds what is left of `room`.
    pub fn each_log(
        &self,
        txn: &Txn<'_>,
        blocks: Vec<(u64, Vec<usize>)>,
        mut room: usize,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), ChainError> {
        let mut buffer = Vec::new();
        for (number, numbers) in blocks {
            let LogSelection { header, body, receipts, .. } = self.selection(txn, number, None)?;
            let block = BlockContext::new(&header, false)?;
            for number in numbers {
                let mut text = Writer::new(std::mem::take(&mut buffer));
                json::render_log(&mut text, &block, &body, &receipts, number)?;
                buffer = text.into_text();
                match room.checked_sub(buffer.len() + 1) {
                    Some(left) => room = left,
                    None => return Ok(()),
                }
                take(&buffer);
                buffer.clear();
            }
        }
        Ok(())
    }

    fn selection<'t>(
        &self,
        txn: &'t Txn<'_>,
        number: u64,
        numbers: Option<Vec<usize>>,
    ) -> Result<LogSelection<'t>, ChainError> {
        let key = number.to_be_bytes();
        Ok(LogSelection {
            header: HeaderRow::new(self.headers.require(txn, &key)?)?,
            body: BodyRow::new(self.bodies.require(txn, &key)?)?,
            receipts: ReceiptsRow::new(self.receipts.require(txn, &key)?)?,
            numbers,
        })
    }
}
