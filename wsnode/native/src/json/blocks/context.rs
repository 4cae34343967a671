//! Common members of a block's objects: its hash, number, timestamp and fees.

use alloy_primitives::B256;

use crate::chain::rows::{HeaderRow, RowError};

use crate::json::Writer;

/// Members of a block that its transactions, receipts and logs show.
#[derive(Debug, Clone, Copy)]
pub struct BlockContext<'a> {
    pub hash: &'a B256,
    pub number: u64,
    pub timestamp: u64,
    pub base_fee: Option<u64>,
    pub blob_base_fee: Option<u128>,
    /// True if the block is not sealed yet, so that its objects do not name it.
    pub pending: bool,
    /// True if the block has left the chain, so that its logs are marked as removed.
    pub removed: bool,
}

impl<'a> BlockContext<'a> {
    /// Return the common members of the objects in the block of `row`.
    pub fn new(row: &HeaderRow<'a>, pending: bool) -> Result<Self, RowError> {
        let fields = row.fields()?;
        Ok(Self {
            hash: row.hash(),
            number: fields.number,
            timestamp: fields.timestamp,
            base_fee: fields.base_fee,
            blob_base_fee: row.blob_base_fee(),
            pending,
            removed: false,
        })
    }

    /// Write the beginning of a transaction object, from `{"blockHash":` to `"from":"0x`.
    #[inline]
    pub fn write_transaction_start(&self, text: &mut Writer) {
        if self.pending {
            return text
                .fixed(b"{\"blockHash\":null,\"blockNumber\":null,\"blockTimestamp\":null,\"from\":\"0x");
        }
        text.fixed(b"{\"blockHash\":\"0x");
        text.hash(&self.hash.0);
        text.fixed(b"\",\"blockNumber\":\"0x");
        text.quantity(self.number);
        text.fixed(b"\",\"blockTimestamp\":\"0x");
        text.quantity(self.timestamp);
        text.fixed(b"\",\"from\":\"0x");
    }

    /// Write the beginning of a receipt object, from `"blockHash":` to the comma after the number.
    #[inline]
    pub fn write_receipt_start(&self, text: &mut Writer) {
        text.fixed(b"\"blockHash\":\"0x");
        text.hash(&self.hash.0);
        text.fixed(b"\",\"blockNumber\":\"0x");
        text.quantity(self.number);
        text.fixed(b"\",");
    }
}

/// Write `","to":` and the recipient, or null.
pub fn write_recipient(text: &mut Writer, to: Option<&[u8; 20]>) {
    match to {
        Some(address) => {
            text.fixed(b"\",\"to\":\"0x");
            text.hash(address);
            text.fixed(b"\"");
        }
        None => text.fixed(b"\",\"to\":null"),
    }
}
