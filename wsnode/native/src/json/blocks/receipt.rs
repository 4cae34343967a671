//! Receipt objects.

use alloy_primitives::Address;

use crate::chain::rows::{BodyRow, HeaderRow, Outcome, ReceiptRow, ReceiptsRow, RowError, TransactionRow};

use super::context::BlockContext;
use super::envelope::Envelope;
use super::log::write_log;
use super::transaction::write_recipient;
use crate::json::Writer;

const GAS_PER_BLOB: u64 = 131_072;

/// Writes the receipt at `index`; false, and nothing written, when there is none.
pub fn render_receipt(
    text: &mut Writer,
    header: &HeaderRow<'_>,
    body: &BodyRow<'_>,
    receipts: &ReceiptsRow<'_>,
    index: usize,
) -> Result<bool, RowError> {
    let (Some(transaction), Some(receipt)) = (body.transaction(index)?, receipts.receipt(index)?) else {
        return Ok(false);
    };
    let block = BlockContext::new(header, false)?;
    write_receipt(text, &block, receipts, index, &transaction, &receipt)?;
    Ok(true)
}

/// Writes the list of all receipts of a block.
pub fn render_receipts(
    text: &mut Writer,
    header: &HeaderRow<'_>,
    body: &BodyRow<'_>,
    receipts: &ReceiptsRow<'_>,
) -> Result<(), RowError> {
    if body.transaction_count() != receipts.receipt_count() {
        return Err(RowError::Corrupt("receipts of another block"));
    }
    let block = BlockContext::new(header, false)?;
    text.reserve(1024 * receipts.receipt_count() + 640 * receipts.log_count());
    text.list(body.transaction_rows().enumerate().map(numbered), |text, (index, transaction)| {
        let receipt = receipts.receipt(index)?.ok_or(RowError::Corrupt("no such receipt"))?;
        write_receipt(text, &block, receipts, index, &transaction, &receipt)
    })
}

fn numbered<T>((index, row): (usize, Result<T, RowError>)) -> Result<(usize, T), RowError> {
    row.map(|row| (index, row))
}

fn write_receipt(
    text: &mut Writer,
    block: &BlockContext<'_>,
    receipts: &ReceiptsRow<'_>,
    index: usize,
    transaction: &TransactionRow<'_>,
    receipt: &ReceiptRow<'_>,
) -> Result<(), RowError> {
    let envelope = Envelope::new(transaction.envelope)?;
    text.fixed(b"{");
    write_blob_gas(text, block, &envelope)?;
    block.write_receipt_start(text);
    write_created(text, transaction.sender, &envelope);
    text.fixed(b",\"cumulativeGasUsed\":\"0x");
    text.quantity(receipt.cumulative_gas_used);
    text.fixed(b"\",\"effectiveGasPrice\":\"0x");
    text.wide_quantity(envelope.price.effective(block.base_fee)?);
    text.fixed(b"\",\"from\":\"0x");
    text.hash(&transaction.sender.0 .0);
    text.fixed(b"\",\"gasUsed\":\"0x");
    text.quantity(receipt.gas_used);
    text.fixed(b"\",\"logs\":");
    write_logs(text, block, receipts, transaction, receipt)?;
    text.fixed(b",\"logsBloom\":\"0x");
    text.hash(&receipt.bloom.bloom().0 .0);
    write_outcome(text, receipt.outcome);
    write_recipient(text, envelope.to);
    text.fixed(b",\"transactionHash\":\"0x");
    text.hash(&transaction.hash.0);
    text.fixed(b"\",\"transactionIndex\":\"0x");
    text.quantity(index as u64);
    text.fixed(b"\",\"type\":\"0x");
    text.quantity(u64::from(envelope.kind));
    text.fixed(b"\"}");
    Ok(())
}

fn write_blob_gas(
    text: &mut Writer,
    block: &BlockContext<'_>,
    envelope: &Envelope<'_>,
) -> Result<(), RowError> {
    if envelope.blob_versioned_hashes.is_none() {
        return Ok(());
    }
    let price = block.blob_base_fee.ok_or(RowError::Corrupt("no blob base fee"))?;
    text.fixed(b"\"blobGasPrice\":\"0x");
    text.wide_quantity(price);
    text.fixed(b"\",\"blobGasUsed\":\"0x");
    text.quantity(GAS_PER_BLOB * envelope.blob_count() as u64);
    text.fixed(b"\",");
    Ok(())
}

/// Writes the address of the contract that the transaction was to create, or null.
fn write_created(text: &mut Writer, sender: &Address, envelope: &Envelope<'_>) {
    if envelope.to.is_some() {
        return text.fixed(b"null");
    }
    text.fixed(b"\"0x");
    text.hash(&sender.create(envelope.nonce).0 .0);
    text.fixed(b"\"");
}

fn write_logs(
    text: &mut Writer,
    block: &BlockContext<'_>,
    receipts: &ReceiptsRow<'_>,
    transaction: &TransactionRow<'_>,
    receipt: &ReceiptRow<'_>,
) -> Result<(), RowError> {
    text.list((receipt.first_log..receipt.end_log).map(Ok), |text, number| {
        let log = receipts.log(number)?.ok_or(RowError::Corrupt("no such log"))?;
        write_log(text, block, &log, &transaction.hash.0, number);
        Ok(())
    })
}

/// Writes the status, or before Byzantium the state root.
fn write_outcome(text: &mut Writer, outcome: Outcome<'_>) {
    match outcome {
        Outcome::Success => text.fixed(b"\",\"status\":\"0x1"),
        Outcome::Failure => text.fixed(b"\",\"status\":\"0x0"),
        Outcome::StateRoot(root) => {
            text.fixed(b"\",\"root\":\"0x");
            text.hash(&root.0);
        }
    }
}
