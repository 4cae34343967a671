//! Blocks put below the lowest canonical one, and removed there.
//!
//! A chain may begin above its genesis block. It keeps the totals of the block below its first one, from
//! which later totals follow.

use alloy_primitives::U256;
use heed::PutFlags;

use super::append::{lookup_entries, BlockRows};
use super::rows::{BodyRow, HeaderRow, ReceiptsRow, RowError};
use super::tables::{ChainError, ChainTables, LogBlock, Totals};
use crate::store::TransactionHandle;

const ABSENT: RowError = RowError::Corrupt("a block is not there");

impl ChainTables {
    /// Put a block below the first one, and return the number of its first log.
    pub fn prepend(&self, change: &TransactionHandle, block: &BlockRows<'_>) -> Result<u64, ChainError> {
        let header = HeaderRow::new(block.header)?;
        let fields = header.fields()?;
        let key = fields.number.to_be_bytes();
        let through = change.with(|txn| self.totals_through(txn, fields.number))?;
        let before = before(through, fields.difficulty, &ReceiptsRow::new(block.receipts)?)?;
        for (table, row) in
            [(self.headers, block.header), (self.bodies, block.body), (self.receipts, block.receipts)]
        {
            change.put(table, PutFlags::empty(), &key, row)?;
        }
        if let Some(parent) = fields.number.checked_sub(1) {
            change.put(self.totals, PutFlags::empty(), &parent.to_be_bytes(), &before.row())?;
        }
        if through.logs > before.logs {
            let (end, row) = LogBlock { number: fields.number, first: before.logs, end: through.logs }.row();
            change.put(self.log_blocks, PutFlags::empty(), &end, &row)?;
        }
        change.put(self.numbers, PutFlags::empty(), header.hash().as_slice(), &key)?;
        let mut entries = lookup_entries(fields.number, &BodyRow::new(block.body)?)?;
        entries.sort_unstable();
        self.index_transactions(change, &entries)?;
        Ok(before.logs)
    }

    /// Remove the rows of block `number`, the first one; its totals stay, because the next block's logs are
    /// numbered from them.
    pub fn remove_first(&self, change: &TransactionHandle, number: u64) -> Result<(), ChainError> {
        let key = number.to_be_bytes();
        let header = change.get(self.headers, &key, |row| HeaderRow::new(row).map(|header| *header.hash()));
        let hash = header?.ok_or(ABSENT)??;
        let body = change.get(self.bodies, &key, |row| lookup_entries(number, &BodyRow::new(row)?));
        self.unindex_transactions(change, &body?.ok_or(ABSENT)??)?;
        let (before, through) = change.with(|txn| self.totals_around(txn, number))?;
        if through.logs > before.logs {
            change.delete(self.log_blocks, &through.logs.to_be_bytes())?;
        }
        for table in [self.headers, self.bodies, self.receipts] {
            change.delete(table, &key)?;
        }
        if let Some(parent) = number.checked_sub(1) {
            change.delete(self.totals, &parent.to_be_bytes())?;
        }
        change.delete(self.numbers, hash.as_slice())?;
        Ok(())
    }
}

fn before(through: Totals, difficulty: &[u8], receipts: &ReceiptsRow<'_>) -> Result<Totals, RowError> {
    let difficulty = U256::try_from_be_slice(difficulty);
    Ok(Totals {
        logs: through
            .logs
            .checked_sub(receipts.log_count() as u64)
            .ok_or(RowError::Corrupt("fewer logs than below a block"))?,
        difficulty: difficulty
            .and_then(|difficulty| through.difficulty.checked_sub(difficulty))
            .ok_or(RowError::Corrupt("total difficulty below 0"))?,
    })
}
