//! Append of blocks at the end of the canonical chain, and removal there.

use alloy_primitives::{B256, U256};
use heed::PutFlags;

use super::rows::{location, lookup_key, BodyRow, HeaderRow, ReceiptsRow, RowError, LOCATION_SIZE};
use super::tables::{ChainError, ChainTables, LogBlock, Totals};
use crate::store::{StoreError, Table, TransactionHandle};

#[derive(Debug, Clone, Copy)]
pub struct BlockRows<'a> {
    pub header: &'a [u8],
    pub body: &'a [u8],
    pub receipts: &'a [u8],
}

/// Key in the index of transactions, and the transaction's location listed there.
pub(super) type LookupEntry = ([u8; LOCATION_SIZE], [u8; LOCATION_SIZE]);

impl ChainTables {
    /// Append blocks after the last one, or to an empty chain, and return the number of logs before them.
    pub fn append(&self, change: &TransactionHandle, blocks: &[BlockRows<'_>]) -> Result<u64, ChainError> {
        let Some(first) = blocks.first() else {
            return Err(RowError::Corrupt("no block to append").into());
        };
        let number = HeaderRow::new(first.header)?.fields()?.number;
        let before = change.with(|txn| self.totals_before(txn, number))?;
        let (mut through, mut entries) = (before, Vec::new());
        for block in blocks {
            through = self.append_rows(change, block, through)?;
            let number = HeaderRow::new(block.header)?.fields()?.number;
            entries.extend(lookup_entries(number, &BodyRow::new(block.body)?)?);
        }
        // In key order each page of the table is visited once.
        entries.sort_unstable();
        self.index_transactions(change, &entries)?;
        Ok(before.logs)
    }

    fn append_rows(
        &self,
        change: &TransactionHandle,
        block: &BlockRows<'_>,
        before: Totals,
    ) -> Result<Totals, ChainError> {
        let header = HeaderRow::new(block.header)?;
        let fields = header.fields()?;
        let key = fields.number.to_be_bytes();
        let through = through(before, fields.difficulty, &ReceiptsRow::new(block.receipts)?)?;
        append(change, self.headers, "headers", &key, block.header)?;
        append(change, self.bodies, "bodies", &key, block.body)?;
        append(change, self.receipts, "receipts", &key, block.receipts)?;
        append(change, self.totals, "totals", &key, &through.row())?;
        if through.logs > before.logs {
            let (end, row) = LogBlock { number: fields.number, first: before.logs, end: through.logs }.row();
            append(change, self.log_blocks, "log_blocks", &end, &row)?;
        }
        change.put(self.numbers, PutFlags::empty(), header.hash().as_slice(), &key)?;
        Ok(through)
    }

    pub(super) fn index_transactions(
        &self,
        change: &TransactionHandle,
        entries: &[LookupEntry],
    ) -> Result<(), ChainError> {
        for (key, location) in entries {
            if change.put(self.transactions, PutFlags::NO_OVERWRITE, key, location)? {
                continue;
            }
            let mut listed = change.get(self.transactions, key, <[u8]>::to_vec)?.unwrap_or_default();
            if !listed.as_chunks().0.contains(location) {
                listed.extend_from_slice(location);
                change.put(self.transactions, PutFlags::empty(), key, &listed)?;
            }
        }
        Ok(())
    }

    /// Remove all rows of block `number`, the last one.
    pub fn remove_last(&self, change: &TransactionHandle, number: u64) -> Result<(), ChainError> {
        let key = number.to_be_bytes();
        let missing = RowError::Corrupt("a block is not there");
        let header = change.get(self.headers, &key, |row| HeaderRow::new(row).map(|header| *header.hash()));
        let hash = header?.ok_or(missing)??;
        let body = change.get(self.bodies, &key, |row| lookup_entries(number, &BodyRow::new(row)?));
        self.unindex_transactions(change, &body?.ok_or(missing)??)?;
        let (before, through) = change.with(|txn| self.totals_around(txn, number))?;
        if through.logs > before.logs {
            change.delete(self.log_blocks, &through.logs.to_be_bytes())?;
        }
        for table in [self.headers, self.bodies, self.receipts, self.totals] {
            change.delete(table, &key)?;
        }
        change.delete(self.numbers, hash.as_slice())?;
        Ok(())
    }

    pub(super) fn unindex_transactions(
        &self,
        change: &TransactionHandle,
        entries: &[LookupEntry],
    ) -> Result<(), ChainError> {
        for (key, location) in entries {
            let listed = change.get(self.transactions, key, <[u8]>::to_vec)?.unwrap_or_default();
            let left: Vec<_> =
                listed.as_chunks::<LOCATION_SIZE>().0.iter().filter(|other| *other != location).collect();
            if left.is_empty() {
                change.delete(self.transactions, key)?;
            } else {
                let left: Vec<u8> = left.into_iter().flatten().copied().collect();
                change.put(self.transactions, PutFlags::empty(), key, &left)?;
            }
        }
        Ok(())
    }
}

/// Put `row` at the end of a table; fail with `NotBeyond` if its key is not the greatest.
///
/// LMDB's append keeps filled pages full; a plain put leaves them half empty.
fn append(
    change: &TransactionHandle,
    table: Table,
    name: &'static str,
    key: &[u8],
    row: &[u8],
) -> Result<(), StoreError> {
    match change.put(table, PutFlags::APPEND, key, row)? {
        true => Ok(()),
        false => Err(StoreError::NotBeyond { table: name, key: key.to_vec() }),
    }
}

fn through(before: Totals, difficulty: &[u8], receipts: &ReceiptsRow<'_>) -> Result<Totals, RowError> {
    let logs = before.logs + receipts.log_count() as u64;
    let difficulty =
        U256::try_from_be_slice(difficulty).and_then(|difficulty| before.difficulty.checked_add(difficulty));
    Ok(Totals { logs, difficulty: difficulty.ok_or(RowError::Corrupt("total difficulty above 256 bits"))? })
}

pub(super) fn lookup_entries(number: u64, body: &BodyRow<'_>) -> Result<Vec<LookupEntry>, RowError> {
    let hashes = body.transaction_hashes()?.as_chunks::<32>().0.iter().enumerate();
    let entry = |(index, hash): (usize, &[u8; 32])| {
        let location = location(number, index).ok_or(RowError::Corrupt("no place for a transaction"))?;
        let mut key = [0; LOCATION_SIZE];
        key.copy_from_slice(lookup_key(&B256::from(*hash)));
        Ok((key, location))
    };
    hashes.map(entry).collect()
}
