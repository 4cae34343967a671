//! Receipt objects.

use alloy_primitives::Address;

use crate::chain::rows::rlp::number;
use crate::chain::rows::transaction::system::{SystemFields, DEPOSIT, UNSIGNED};
use crate::chain::rows::{
    BodyRow, HeaderRow, ReceiptOutcome, ReceiptRow, ReceiptsRow, RowError, TransactionRow,
};

use super::arbitrum::L1Position;
use super::context::{write_recipient, BlockContext};
use super::l1_fees::L1Terms;
use super::log::write_log;
use super::tx_envelope::{Envelope, Price};
use crate::json::Writer;

const GAS_PER_BLOB: u64 = 131_072;

/// Write the receipt at `index` and return true; without such a receipt, write nothing and return false.
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
    let block = ReceiptsContext::new(header, body)?;
    write_receipt(text, &block, receipts, index, &transaction, &receipt)?;
    Ok(true)
}

pub fn render_receipts(
    text: &mut Writer,
    header: &HeaderRow<'_>,
    body: &BodyRow<'_>,
    receipts: &ReceiptsRow<'_>,
) -> Result<(), RowError> {
    if body.transaction_count() != receipts.receipt_count() {
        return Err(RowError::Corrupt("receipts of another block"));
    }
    let block = ReceiptsContext::new(header, body)?;
    text.reserve(1024 * receipts.receipt_count() + 640 * receipts.log_count());
    text.list(body.transaction_rows().enumerate().map(numbered), |text, (index, transaction)| {
        let receipt = receipts.receipt(index)?.ok_or(RowError::Corrupt("no such receipt"))?;
        write_receipt(text, &block, receipts, index, &transaction, &receipt)
    })
}

fn numbered<T>((index, row): (usize, Result<T, RowError>)) -> Result<(usize, T), RowError> {
    row.map(|row| (index, row))
}

/// Common values of a block's receipts.
struct ReceiptsContext<'a> {
    block: BlockContext<'a>,
    /// Fees on L1, in a block of the OP stack.
    terms: Option<L1Terms<'a>>,
    /// Values of L1 in the header, in a block of Arbitrum.
    position: Option<L1Position<'a>>,
}

impl<'a> ReceiptsContext<'a> {
    fn new(header: &HeaderRow<'a>, body: &BodyRow<'a>) -> Result<Self, RowError> {
        let (block, terms) = (BlockContext::new(header, false)?, L1Terms::of_block(body)?);
        Ok(Self { block, terms, position: L1Position::of_block(&header.fields()?, body)? })
    }

    /// Return the price that a transaction paid in wei per gas. `offered` is its price, None for a system
    /// transaction.
    fn price(&self, offered: Option<&Price<'_>>) -> Result<u128, RowError> {
        match (&self.position, offered) {
            (None, None) => Ok(0),
            (None, Some(price)) => price.effective(self.block.base_fee),
            (Some(position), Some(price)) if position.pays_tips => price.effective(self.block.base_fee),
            (Some(_), _) => Ok(self.block.base_fee.unwrap_or_default().into()),
        }
    }
}

/// Members of a transaction from which its receipt is written.
struct Receipted<'a> {
    kind: u8,
    to: Option<&'a [u8; 20]>,
    /// Nonce of the sender, if the block contains it.
    nonce: Option<u64>,
    price: u128,
}

impl<'a> Receipted<'a> {
    fn signed(envelope: &Envelope<'a>, price: u128) -> Self {
        Self { kind: envelope.kind, to: envelope.to, nonce: Some(envelope.nonce), price }
    }

    fn system(fields: &SystemFields<'a>, row: &TransactionRow<'_>, price: u128) -> Self {
        let nonce = match fields.row.kind {
            DEPOSIT => Some(row.deposit.map_or(0, |deposit| deposit.nonce)),
            UNSIGNED => fields.value("nonce").and_then(|nonce| number(nonce).ok()),
            _ => None,
        };
        Self { kind: fields.row.kind, to: fields.recipient(), nonce, price }
    }
}

fn write_receipt(
    text: &mut Writer,
    context: &ReceiptsContext<'_>,
    receipts: &ReceiptsRow<'_>,
    index: usize,
    transaction: &TransactionRow<'_>,
    receipt: &ReceiptRow<'_>,
) -> Result<(), RowError> {
    let block = &context.block;
    let system = SystemFields::read(transaction.envelope)?;
    text.fixed(b"{");
    let shown = match &system {
        Some(fields) => Receipted::system(fields, transaction, context.price(None)?),
        None => {
            let envelope = Envelope::new(transaction.envelope)?;
            write_blob_gas(text, block, &envelope)?;
            Receipted::signed(&envelope, context.price(Some(&envelope.price))?)
        }
    };
    block.write_receipt_start(text);
    write_created(text, transaction.sender, &shown);
    text.fixed(b"\"cumulativeGasUsed\":\"0x");
    text.quantity(receipt.cumulative_gas_used);
    text.fixed(b"\",\"effectiveGasPrice\":\"0x");
    text.wide_quantity(shown.price);
    text.fixed(b"\",\"from\":\"0x");
    text.hash(&transaction.sender.0 .0);
    text.fixed(b"\",\"gasUsed\":\"0x");
    text.quantity(receipt.gas_used);
    text.fixed(b"\",\"logs\":");
    write_logs(text, block, receipts, transaction, receipt)?;
    text.fixed(b",\"logsBloom\":\"0x");
    text.hash(&receipt.bloom.bloom().0 .0);
    write_outcome(text, receipt.outcome);
    write_recipient(text, shown.to);
    text.fixed(b",\"transactionHash\":\"0x");
    text.hash(&transaction.hash.0);
    text.fixed(b"\",\"transactionIndex\":\"0x");
    text.quantity(index as u64);
    text.fixed(b"\",\"type\":\"0x");
    text.quantity(u64::from(shown.kind));
    text.fixed(b"\"");
    write_family_members(text, context, transaction, system.is_some());
    text.fixed(b"}");
    Ok(())
}

/// Write the members of receipts outside Ethereum's family.
fn write_family_members(
    text: &mut Writer,
    context: &ReceiptsContext<'_>,
    transaction: &TransactionRow<'_>,
    is_system: bool,
) {
    if let Some(deposit) = transaction.deposit {
        text.fixed(b",\"depositNonce\":\"0x");
        text.quantity(deposit.nonce);
        text.fixed(b"\",\"depositReceiptVersion\":\"0x");
        text.quantity(deposit.version);
        text.fixed(b"\"");
    }
    if let Some(terms) = context.terms.as_ref().filter(|_| !is_system) {
        terms.write_members(text, transaction.envelope);
    }
    if let Some(position) = &context.position {
        position.write_receipt_members(text);
    }
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

/// Write the address of the contract that the transaction creates, or null, with a comma after it.
///
/// Nothing is written if no root commits to the creator's nonce, from which the address follows.
fn write_created(text: &mut Writer, sender: &Address, shown: &Receipted<'_>) {
    match (shown.to, shown.nonce) {
        (Some(_), _) => text.fixed(b"\"contractAddress\":null,"),
        (None, Some(nonce)) => {
            text.fixed(b"\"contractAddress\":\"0x");
            text.hash(&sender.create(nonce).0 .0);
            text.fixed(b"\",");
        }
        (None, None) => {}
    }
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

/// Write the status, or before Byzantium the state root.
fn write_outcome(text: &mut Writer, outcome: ReceiptOutcome<'_>) {
    match outcome {
        ReceiptOutcome::Success => text.fixed(b"\",\"status\":\"0x1"),
        ReceiptOutcome::Failure => text.fixed(b"\",\"status\":\"0x0"),
        ReceiptOutcome::StateRoot(root) => {
            text.fixed(b"\",\"root\":\"0x");
            text.hash(&root.0);
        }
    }
}
