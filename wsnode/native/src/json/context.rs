//! What the objects of a block share: its hash, number, timestamp and fees, some of it already as text.

use crate::rows::{HeaderRow, RowError};

use super::Writer;

/// The parts of a block that its transactions, receipts and logs carry.
#[derive(Debug)]
pub struct BlockContext {
    pub base_fee: Option<u64>,
    pub blob_base_fee: Option<u128>,
    pub pending: bool,
    /// `{"blockHash":…,"blockNumber":…,"blockTimestamp":…,"from":"0x`
    pub transaction_start: Vec<u8>,
    /// `"blockHash":…,"blockNumber":…,"contractAddress":`
    pub receipt_start: Vec<u8>,
    /// `","blockNumber":…,"transactionHash":"0x`
    pub log_middle: Vec<u8>,
    /// `","blockHash":…,"blockTimestamp":…,"logIndex":"0x`
    pub log_end: Vec<u8>,
}

impl BlockContext {
    /// What the objects of the block of `row` share.
    pub fn new(row: &HeaderRow<'_>, pending: bool) -> Result<Self, RowError> {
        let fields = row.fields()?;
        let hash = quoted(|text| text.hash(&row.hash().0));
        let number = quoted(|text| text.quantity(fields.number));
        let timestamp = quoted(|text| text.quantity(fields.timestamp));
        Ok(Self {
            base_fee: fields.base_fee,
            blob_base_fee: row.blob_base_fee(),
            pending,
            transaction_start: transaction_start(pending, &hash, &number, &timestamp),
            receipt_start: [
                &b"\"blockHash\":"[..],
                &hash,
                b",\"blockNumber\":",
                &number,
                b",\"contractAddress\":",
            ]
            .concat(),
            log_middle: [
                &b"\",\"blockNumber\":"[..],
                &number,
                b",\"transactionHash\":\"0x",
            ]
            .concat(),
            log_end: [
                &b"\",\"blockHash\":"[..],
                &hash,
                b",\"blockTimestamp\":",
                &timestamp,
                b",\"logIndex\":\"0x",
            ]
            .concat(),
        })
    }
}

fn transaction_start(pending: bool, hash: &[u8], number: &[u8], timestamp: &[u8]) -> Vec<u8> {
    let null = b"null";
    let [hash, number, timestamp] = if pending {
        [&null[..]; 3]
    } else {
        [hash, number, timestamp]
    };
    [
        &b"{\"blockHash\":"[..],
        hash,
        b",\"blockNumber\":",
        number,
        b",\"blockTimestamp\":",
        timestamp,
        b",\"from\":\"0x",
    ]
    .concat()
}

/// `"0x…"` around what `write` writes.
fn quoted(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut text = Writer::default();
    text.fixed(b"\"0x");
    write(&mut text);
    text.fixed(b"\"");
    text.into_text()
}
