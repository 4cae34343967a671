//! Objects of system transactions, which no account signed.

use crate::chain::rows::transaction::system::{FieldType, Member, SystemFields, DEPOSIT};
use crate::chain::rows::TransactionRow;
use crate::json::Writer;

use super::arbitrum::input;
use super::context::{write_recipient, BlockContext};

/// Fields that `write_system_transaction` writes itself, in place of `write_member`; `isSystemTx` only if it
/// is set.
const COMMON: [&str; 7] = ["from", "to", "gas", "value", "input", "nonce", "isSystemTx"];

/// Write a system transaction in the form of its chain's own node.
pub fn write_system_transaction(
    text: &mut Writer,
    block: &BlockContext<'_>,
    index: usize,
    row: &TransactionRow<'_>,
    fields: &SystemFields<'_>,
) {
    block.write_transaction_start(text);
    text.hash(&row.sender.0 .0);
    text.fixed(b"\",\"gas\":\"0x");
    text.big_quantity(fields.value("gas").unwrap_or_default());
    text.fixed(b"\",\"gasPrice\":\"0x");
    text.big_quantity(fields.value("maxFeePerGas").unwrap_or_default());
    text.fixed(b"\",\"hash\":\"0x");
    text.hash(&row.hash.0);
    text.fixed(b"\",\"input\":\"0x");
    text.bytes(&input(fields));
    write_nonce(text, row, fields);
    write_recipient(text, fields.recipient());
    text.fixed(b",\"transactionIndex\":\"0x");
    text.quantity(index as u64);
    text.fixed(b"\",\"value\":\"0x");
    text.big_quantity(fields.value("value").unwrap_or_default());
    text.fixed(b"\",\"type\":\"0x");
    text.quantity(u64::from(fields.row.kind));
    text.fixed(b"\",\"v\":\"0x0\",\"r\":\"0x0\",\"s\":\"0x0\"");
    fields
        .members()
        .filter(|((name, _), _)| !COMMON.contains(name))
        .for_each(|each| write_member(text, each));
    if fields.value("isSystemTx").is_some_and(|flag| !flag.is_empty()) {
        text.fixed(b",\"isSystemTx\":true");
    }
    if let Some(deposit) = row.deposit {
        text.fixed(b",\"depositReceiptVersion\":\"0x");
        text.quantity(deposit.version);
        text.fixed(b"\"");
    }
    text.fixed(b"}");
}

/// Write the nonce. A deposit has it in its receipt alone, and nothing is written if the receipt does not
/// prove it.
fn write_nonce(text: &mut Writer, row: &TransactionRow<'_>, fields: &SystemFields<'_>) {
    let deposit = row.deposit.map(|deposit| deposit.nonce.to_be_bytes());
    let nonce = match (fields.row.kind, &deposit) {
        (DEPOSIT, None) => return,
        (DEPOSIT, Some(nonce)) => nonce,
        _ => fields.value("nonce").unwrap_or_default(),
    };
    text.fixed(b"\",\"nonce\":\"0x");
    text.big_quantity(nonce);
}

fn write_member(text: &mut Writer, ((name, form), value): (Member, &[u8])) {
    if form == FieldType::Recipient && value.is_empty() {
        return;
    }
    text.fixed(b",\"");
    text.text(name);
    text.fixed(b"\":");
    match form {
        FieldType::Flag => return text.text(if value.is_empty() { "false" } else { "true" }),
        _ => text.fixed(b"\"0x"),
    }
    match form {
        FieldType::Number(_) => text.big_quantity(value),
        _ => text.bytes(value),
    }
    text.fixed(b"\"");
}
