//! A transaction by its hash, straight from the chain's tables.

use alloy_primitives::B256;
use heed::{RoTxn, WithoutTls};

use crate::json::{self, Writer};
use crate::rows::{place_key, places, BodyRow, HeaderRow, ReceiptsRow, RowError};
use crate::store::{StoreError, Table};

/// Why a transaction cannot be looked up.
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

type Txn<'t> = RoTxn<'t, WithoutTls>;

/// The tables in which blocks lie; `docs/storage.md` describes each.
#[derive(Debug, Clone, Copy)]
pub struct ChainTables {
    headers: Table,
    bodies: Table,
    receipts: Table,
    transactions: Table,
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
}
