//! Lookup of transactions by their hashes and of logs by their numbers, in the chain's tables.

use alloy_consensus::Header;
use alloy_primitives::B256;

use super::tables::{ChainError, ChainTables, LogBlock, Txn};
use crate::chain::rows::{locations, lookup_key, BodyRow, Criteria, HeaderRow, ReceiptsRow, RowError};
use crate::json::{self, BlockContext, BlockStyle, LogSelection, TotalDifficulty, Writer};

/// Location of a canonical transaction: its block's key and body row, and its index in the block.
pub struct TransactionLocation<'t> {
    pub key: [u8; 8],
    pub index: usize,
    body: BodyRow<'t>,
}

/// Cost of reading one block's logs, in compared logs.
const LOGS_A_BLOCK: usize = 32;

/// Number of a block, and the ascending numbers of logs in it.
pub type Matches = (u64, Vec<u64>);

impl ChainTables {
    /// Return the hash of canonical block `number`; None if it is not stored.
    pub fn block_hash(&self, txn: &Txn<'_>, number: u64) -> Result<Option<B256>, ChainError> {
        let Some(row) = self.headers.get(txn, &number.to_be_bytes())? else {
            return Ok(None);
        };
        Ok(Some(*HeaderRow::new(row)?.hash()))
    }

    /// Return the header of canonical block `number`; None if it is not stored.
    pub fn header(&self, txn: &Txn<'_>, number: u64) -> Result<Option<Header>, ChainError> {
        let row = self.headers.get(txn, &number.to_be_bytes())?;
        Ok(row.map(|row| HeaderRow::new(row)?.header()).transpose()?)
    }

    /// Return the number of the canonical block with this hash; None if there is none.
    pub fn number_of(&self, txn: &Txn<'_>, hash: &B256) -> Result<Option<u64>, ChainError> {
        let key = self.numbers.get(txn, hash.as_slice())?;
        Ok(key.and_then(|key| key.try_into().ok()).map(u64::from_be_bytes))
    }

    /// Write a canonical block as JSON and return true; return false for an unknown block, or a body row of
    /// more than `longest` bytes.
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

    /// Return the location of the canonical transaction with this hash; None if there is none.
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

    /// Write a canonical transaction as JSON and return true; return false if there is none with this hash.
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

    /// Write the receipt of a canonical transaction as JSON and return true; return false if there is none
    /// with this hash.
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

    /// Write the receipt of a canonical transaction as JSON, or null for an unknown hash; return true.
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

    /// Return the logs that match, of those numbered `begin` to before `end`, grouped by block, and the
    /// number of the first log not compared.
    ///
    /// At most `most` logs are compared; each block counts as `LOGS_A_BLOCK` more.
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

    /// Return the numbers within `block` of its matching logs, of those numbered `begin` to before `end` in
    /// the chain.
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

    /// Write logs of canonical blocks as JSON, separated by commas: for each block those with the given
    /// indices, or all for None.
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

    /// Call `take` with the JSON of each of these logs, in their order, as long as the texts and a comma for
    /// each fit into `room` bytes.
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
