//! Payloads of the Engine API.
//!
//! Source: execution-apis, src/engine/{paris,shanghai,cancun,amsterdam}.md.

use crate::chain::rows::{BodyRow, HeaderRow, RowError};

use super::header::{write_gas_to_extra_data, write_hash};
use super::withdrawals::write_withdrawals;
use crate::json::Writer;

/// Write the payload of a block after the merge. `access_list` is the RLP of its block access list, from
/// Amsterdam on.
pub fn render_payload(
    text: &mut Writer,
    header: &HeaderRow<'_>,
    body: &BodyRow<'_>,
    access_list: Option<&[u8]>,
) -> Result<(), RowError> {
    let fields = header.fields()?;
    write_hash(text, b"{\"parentHash\":\"0x", fields.parent_hash);
    text.fixed(b"\",\"feeRecipient\":\"0x");
    text.hash(&fields.beneficiary.0 .0);
    write_hash(text, b"\",\"stateRoot\":\"0x", fields.state_root);
    write_hash(text, b"\",\"receiptsRoot\":\"0x", fields.receipts_root);
    text.fixed(b"\",\"logsBloom\":\"0x");
    text.hash(fields.logs_bloom);
    write_hash(text, b"\",\"prevRandao\":\"0x", fields.mix_hash);
    text.fixed(b"\",\"blockNumber\":\"0x");
    text.quantity(fields.number);
    write_gas_to_extra_data(text, &fields);
    text.fixed(b"\",\"baseFeePerGas\":\"0x");
    text.quantity(fields.base_fee.unwrap_or(0));
    write_hash(text, b"\",\"blockHash\":\"0x", header.hash());
    text.fixed(b"\"");
    write_optional(text, b",\"blobGasUsed\":\"0x", fields.blob_gas_used);
    write_optional(text, b",\"excessBlobGas\":\"0x", fields.excess_blob_gas);
    text.fixed(b",\"transactions\":");
    write_transactions(text, body)?;
    if let Some(withdrawals) = body.withdrawals_rlp()? {
        text.fixed(b",\"withdrawals\":");
        write_withdrawals(text, withdrawals)?;
    }
    if let Some(list) = access_list {
        text.fixed(b",\"blockAccessList\":");
        text.quoted_bytes(list);
    }
    write_optional(text, b",\"slotNumber\":\"0x", fields.slot_number);
    text.fixed(b"}");
    Ok(())
}

/// Member `blockAccessList` of a payload's body: absent in the first version, null for a block without one.
#[derive(Debug, Clone, Copy)]
pub enum BodyList<'a> {
    Absent,
    Null,
    Rlp(&'a [u8]),
}

/// Write a payload's body: transactions, and withdrawals or null before Shanghai.
pub fn render_payload_body(
    text: &mut Writer,
    body: &BodyRow<'_>,
    access_list: BodyList<'_>,
) -> Result<(), RowError> {
    text.fixed(b"{\"transactions\":");
    write_transactions(text, body)?;
    text.fixed(b",\"withdrawals\":");
    match body.withdrawals_rlp()? {
        Some(withdrawals) => write_withdrawals(text, withdrawals)?,
        None => text.fixed(b"null"),
    }
    match access_list {
        BodyList::Absent => {}
        BodyList::Null => text.fixed(b",\"blockAccessList\":null"),
        BodyList::Rlp(list) => {
            text.fixed(b",\"blockAccessList\":");
            text.quoted_bytes(list);
        }
    }
    text.fixed(b"}");
    Ok(())
}

fn write_optional<const N: usize>(text: &mut Writer, key: &[u8; N], number: Option<u64>) {
    if let Some(number) = number {
        text.fixed(key);
        text.quantity(number);
        text.fixed(b"\"");
    }
}

fn write_transactions(text: &mut Writer, body: &BodyRow<'_>) -> Result<(), RowError> {
    text.list(body.transaction_rows(), |text, transaction| {
        text.quoted_bytes(transaction.envelope);
        Ok(())
    })
}
