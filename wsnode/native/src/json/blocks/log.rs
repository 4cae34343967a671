//! Log objects.

use crate::chain::rows::{BodyRow, HeaderRow, LogRow, ReceiptsRow, RowError};

use super::context::BlockContext;
use crate::json::Writer;

/// Logs of one block: those with the given numbers within the block, or all.
#[derive(Debug)]
pub struct LogSelection<'a> {
    pub header: HeaderRow<'a>,
    pub body: BodyRow<'a>,
    pub receipts: ReceiptsRow<'a>,
    pub numbers: Option<Vec<usize>>,
}

impl LogSelection<'_> {
    pub fn count(&self) -> usize {
        self.numbers.as_ref().map_or(self.receipts.log_count(), Vec::len)
    }
}

/// Write the selected logs, separated by commas and without brackets. `separate` puts a comma before the
/// first one.
pub fn render_logs(
    text: &mut Writer,
    selection: &LogSelection<'_>,
    mut separate: bool,
) -> Result<(), RowError> {
    let block = BlockContext::new(&selection.header, false)?;
    let mut write = |number| {
        if std::mem::replace(&mut separate, true) {
            text.fixed(b",");
        }
        render_log(text, &block, &selection.body, &selection.receipts, number)
    };
    match &selection.numbers {
        Some(numbers) => numbers.iter().copied().try_for_each(&mut write),
        None => (0..selection.receipts.log_count()).try_for_each(&mut write),
    }
}

pub fn render_log(
    text: &mut Writer,
    block: &BlockContext<'_>,
    body: &BodyRow<'_>,
    receipts: &ReceiptsRow<'_>,
    number: usize,
) -> Result<(), RowError> {
    let log = receipts.log(number)?.ok_or(RowError::Corrupt("no such log"))?;
    let hash = transaction_hash(body, log.transaction_index)?;
    write_log(text, block, &log, hash, number);
    Ok(())
}

fn transaction_hash<'a>(body: &BodyRow<'a>, index: usize) -> Result<&'a [u8; 32], RowError> {
    body.transaction_hash(index)?.map(|hash| &hash.0).ok_or(RowError::Corrupt("log of no transaction"))
}

/// Return the number of bytes to reserve for a log's text.
fn expected_length(log: &LogRow<'_>) -> usize {
    512 + 3 * log.topics.len() + 2 * log.data.len()
}

#[inline]
pub fn write_log(
    text: &mut Writer,
    block: &BlockContext<'_>,
    log: &LogRow<'_>,
    transaction_hash: &[u8; 32],
    number: usize,
) {
    text.reserve(expected_length(log));
    text.fixed(b"{\"address\":\"0x");
    text.hash(&log.address.0 .0);
    text.fixed(b"\",\"topics\":[");
    write_topics(text, log.topics);
    text.fixed(b"],\"data\":\"0x");
    text.bytes(log.data);
    text.fixed(b"\",\"blockNumber\":\"0x");
    text.quantity(block.number);
    text.fixed(b"\",\"transactionHash\":\"0x");
    text.hash(transaction_hash);
    text.fixed(b"\",\"transactionIndex\":\"0x");
    text.quantity(log.transaction_index as u64);
    text.fixed(b"\",\"blockHash\":\"0x");
    text.hash(&block.hash.0);
    text.fixed(b"\",\"blockTimestamp\":\"0x");
    text.quantity(block.timestamp);
    text.fixed(b"\",\"logIndex\":\"0x");
    text.quantity(number as u64);
    match block.removed {
        true => text.fixed(b"\",\"removed\":true}"),
        false => text.fixed(b"\",\"removed\":false}"),
    }
}

#[inline]
fn write_topics(text: &mut Writer, topics: &[u8]) {
    for (index, topic) in topics.as_chunks::<32>().0.iter().enumerate() {
        if index > 0 {
            text.fixed(b",");
        }
        text.fixed(b"\"0x");
        text.hash(topic);
        text.fixed(b"\"");
    }
}
