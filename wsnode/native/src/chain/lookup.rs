//! Transactions by their hashes and logs by their numbers, straight from the chain's tables.

use alloy_primitives::B256;
use heed::{RoTxn, WithoutTls};

use crate::chain::rows::{place_key, places, BodyRow, HeaderRow, ReceiptsRow, RowError};
use crate::json::{self, LogSelection, Writer};
use crate::store::{StoreError, Table};

/// Why something cannot be looked up.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Row(#[from] RowError),
}

impl From<heed::Error> for LookupError {
    fn from(error: heed::Error) -> Self {
        Self::Store(error.into())
    }
}

/// A snapshot.
pub type Txn<'t> = RoTxn<'t, WithoutTls>;

/// The tables in which blocks lie; `docs/storage.md` describes each.
#[derive(Debug, Clone, Copy)]
pub struct ChainTables {
    headers: Table,
    bodies: Table,
    receipts: Table,
    transactions: Table,
    log_blocks: Table,
}

/// A block that has logs: its number, and the numbers of its first log and of the one behind its last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogBlock {
    pub number: u64,
    pub first: u64,
    pub end: u64,
}

/// A canonical transaction: its block's key and body row, and its index there.
pub struct Place<'t> {
    pub key: [u8; 8],
    pub index: usize,
    body: BodyRow<'t>,
}

impl ChainTables {
    /// These tables among those of a store, unless it keeps something else.
    pub fn among(names: &[String], tables: &[Table]) -> Option<Self> {
        let named = |wanted| names.iter().position(|name| name == wanted).map(|index| tables[index]);
        Some(Self {
            headers: named("headers")?,
            bodies: named("bodies")?,
            receipts: named("receipts")?,
            transactions: named("transactions")?,
            log_blocks: named("log_blocks")?,
        })
    }

    /// The hash of a canonical block.
    pub fn block_hash(&self, txn: &Txn<'_>, number: u64) -> Result<Option<B256>, LookupError> {
        let Some(row) = self.headers.get(txn, &number.to_be_bytes())? else {
            return Ok(None);
        };
        Ok(Some(*HeaderRow::new(row)?.hash()))
    }

    /// Where a transaction lies, if it is a canonical one.
    pub fn place<'t>(&self, txn: &'t Txn<'_>, hash: &B256) -> Result<Option<Place<'t>>, LookupError> {
        let listed = self.transactions.get(txn, place_key(hash))?.unwrap_or_default();
        for (key, index) in places(listed) {
            let Some(row) = self.bodies.get(txn, &key)? else {
                continue;
            };
            let body = BodyRow::new(row)?;
            if body.transaction_hash(index)? == Some(hash) {
                return Ok(Some(Place { key, index, body }));
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
    ) -> Result<bool, LookupError> {
        let Some(Place { key, index, body }) = self.place(txn, hash)? else {
            return Ok(false);
        };
        let Some(header) = self.headers.get(txn, &key)? else {
            return Ok(false);
        };
        Ok(json::render_transaction(text, &HeaderRow::new(header)?, &body, index, false)?)
    }

    /// Write the receipt of a canonical transaction; whether there is one.
    pub fn write_receipt(&self, txn: &Txn<'_>, hash: &B256, text: &mut Writer) -> Result<bool, LookupError> {
        let Some(Place { key, index, body }) = self.place(txn, hash)? else {
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
    ) -> Result<bool, LookupError> {
        if !self.write_receipt(txn, hash, text)? {
            text.fixed(b"null");
        }
        Ok(true)
    }

    /// The block that has the log of this number, which there is.
    pub fn block_of_log(&self, txn: &Txn<'_>, log: u64) -> Result<LogBlock, LookupError> {
        let found = self.log_blocks.get_greater_than_or_equal_to(txn, &(log + 1).to_be_bytes())?;
        let parts = found.and_then(|(key, value)| {
            let (number, first) = value.split_first_chunk::<8>()?;
            Some(
                [key.first_chunk::<8>()?, number, first.first_chunk::<8>()?]
                    .map(|part| u64::from_be_bytes(*part)),
            )
        });
        match parts {
            Some([end, number, first]) if first <= log => Ok(LogBlock { number, first, end }),
            _ => Err(RowError::Corrupt("no block has a log").into()),
        }
    }

    /// Write logs of canonical blocks, separated by commas: those of these indices in their block, or all.
    pub fn write_logs(
        &self,
        txn: &Txn<'_>,
        blocks: Vec<(u64, Option<Vec<usize>>)>,
        text: &mut Writer,
    ) -> Result<(), LookupError> {
        let mut separate = false;
        for (number, numbers) in blocks {
            let key = number.to_be_bytes();
            let (header, body, receipts) =
                (self.headers.get(txn, &key)?, self.bodies.get(txn, &key)?, self.receipts.get(txn, &key)?);
            let (Some(header), Some(body), Some(receipts)) = (header, body, receipts) else {
                return Err(RowError::Corrupt("a block is not there").into());
            };
            let selection = LogSelection {
                header: HeaderRow::new(header)?,
                body: BodyRow::new(body)?,
                receipts: ReceiptsRow::new(receipts)?,
                numbers,
            };
            json::render_logs(text, &selection, separate)?;
            separate |= selection.count() > 0;
        }
        Ok(())
    }
}
