//! Block and uncle objects.

use alloy_primitives::U256;

use crate::chain::rows::{BodyRow, HeaderFields, HeaderRow, RowError};

use super::arbitrum::L1Position;
use super::context::BlockContext;
use super::header::{write_hash, write_header};
use super::transaction::write_transaction;
use super::withdrawals::write_withdrawals;
use crate::json::Writer;

/// Form of the member `totalDifficulty` in a block object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TotalDifficulty {
    Absent,
    Unknown,
    Known(U256),
}

/// Form of a block object.
#[derive(Debug, Clone, Copy)]
pub struct BlockStyle {
    /// True for transaction objects instead of hashes.
    pub full: bool,
    /// True if members of a sealed block alone are null.
    pub pending: bool,
    pub total_difficulty: TotalDifficulty,
}

pub fn render_block(
    text: &mut Writer,
    header: &HeaderRow<'_>,
    body: &BodyRow<'_>,
    style: &BlockStyle,
) -> Result<(), RowError> {
    let fields = header.fields()?;
    text.reserve(2560);
    write_header(text, &fields, header.hash(), header.size(), style.pending);
    write_total_difficulty(text, style.total_difficulty);
    text.fixed(b",\"transactions\":");
    if style.full {
        write_transactions(text, header, body, style.pending)?;
    } else {
        write_hashes(text, body)?;
    }
    write_hash(text, b",\"transactionsRoot\":\"0x", fields.transactions_root);
    text.fixed(b"\",\"uncles\":");
    text.list(body.ommer_rows(), |text, ommer| {
        write_quoted_hash(text, &ommer.hash.0);
        Ok(())
    })?;
    write_end(text, &fields, body)
}

/// Write the ommer at `index` as a block without transactions, and return true; without such an ommer, write
/// nothing and return false.
pub fn render_uncle(
    text: &mut Writer,
    body: &BodyRow<'_>,
    index: usize,
    total_difficulty: TotalDifficulty,
) -> Result<bool, RowError> {
    let Some(ommer) = body.ommer(index)? else {
        return Ok(false);
    };
    let fields = HeaderFields::new(ommer.rlp)?;
    write_header(text, &fields, ommer.hash, empty_block_size(ommer.rlp.len()), false);
    write_total_difficulty(text, total_difficulty);
    write_hash(text, b",\"transactionsRoot\":\"0x", fields.transactions_root);
    text.fixed(b"\",\"uncles\":[]");
    write_withdrawals_root(text, &fields);
    Ok(true)
}

/// Return the length in bytes of a block's RLP with a header of `header` bytes, two empty lists and the
/// list's prefix.
fn empty_block_size(header: usize) -> usize {
    alloy_rlp::Header { list: true, payload_length: header + 2 }.length_with_payload()
}

fn write_total_difficulty(text: &mut Writer, total_difficulty: TotalDifficulty) {
    match total_difficulty {
        TotalDifficulty::Absent => {}
        TotalDifficulty::Unknown => text.fixed(b",\"totalDifficulty\":null"),
        TotalDifficulty::Known(value) => {
            text.fixed(b",\"totalDifficulty\":\"0x");
            text.big_quantity(&value.to_be_bytes::<32>());
            text.fixed(b"\"");
        }
    }
}

fn write_transactions(
    text: &mut Writer,
    header: &HeaderRow<'_>,
    body: &BodyRow<'_>,
    pending: bool,
) -> Result<(), RowError> {
    let block = BlockContext::new(header, pending)?;
    let mut index = 0;
    text.reserve(1024 * body.transaction_count());
    text.list(body.transaction_rows(), |text, row| {
        write_transaction(text, &block, index, &row)?;
        index += 1;
        Ok(())
    })
}

fn write_hashes(text: &mut Writer, body: &BodyRow<'_>) -> Result<(), RowError> {
    let hashes = body.transaction_hashes()?.as_chunks::<32>().0;
    text.reserve(69 * hashes.len());
    text.list(hashes.iter().map(Ok), |text, hash| {
        write_quoted_hash(text, hash);
        Ok(())
    })
}

fn write_quoted_hash(text: &mut Writer, hash: &[u8; 32]) {
    text.fixed(b"\"0x");
    text.hash(hash);
    text.fixed(b"\"");
}

fn write_end(text: &mut Writer, fields: &HeaderFields<'_>, body: &BodyRow<'_>) -> Result<(), RowError> {
    if let Some(withdrawals) = body.withdrawals_rlp()? {
        text.fixed(b",\"withdrawals\":");
        write_withdrawals(text, withdrawals)?;
    }
    if let Some(position) = L1Position::of_block(fields, body)? {
        position.write_block_members(text);
    }
    write_withdrawals_root(text, fields);
    Ok(())
}

/// Write the withdrawals root, a block's last member, if there is one, and `}`.
fn write_withdrawals_root(text: &mut Writer, fields: &HeaderFields<'_>) {
    if let Some(root) = fields.withdrawals_root {
        write_hash(text, b",\"withdrawalsRoot\":\"0x", root);
        text.fixed(b"\"");
    }
    text.fixed(b"}");
}
