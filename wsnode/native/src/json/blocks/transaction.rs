//! Transaction objects.

use crate::chain::rows::rlp::Items;
use crate::chain::rows::transaction::system::SystemFields;
use crate::chain::rows::{BodyRow, HeaderRow, RowError, TransactionRow};

use super::context::{write_recipient, BlockContext};
use super::system::write_system_transaction;
use super::tx_envelope::{legacy_chain_id, Envelope, Price};
use crate::json::Writer;

/// Write the transaction at `index` and return true; without such a transaction, write nothing and return
/// false.
pub fn render_transaction(
    text: &mut Writer,
    header: &HeaderRow<'_>,
    body: &BodyRow<'_>,
    index: usize,
    pending: bool,
) -> Result<bool, RowError> {
    let Some(row) = body.transaction(index)? else {
        return Ok(false);
    };
    write_transaction(text, &BlockContext::new(header, pending)?, index, &row)?;
    Ok(true)
}

/// Return the number of bytes to reserve for the text of a transaction of `length` bytes.
pub fn expected_length(length: usize) -> usize {
    900 + 2 * length
}

pub fn write_transaction(
    text: &mut Writer,
    block: &BlockContext<'_>,
    index: usize,
    row: &TransactionRow<'_>,
) -> Result<(), RowError> {
    text.reserve(expected_length(row.envelope.len()));
    if let Some(fields) = SystemFields::read(row.envelope)? {
        write_system_transaction(text, block, index, row, &fields);
        return Ok(());
    }
    let envelope = Envelope::new(row.envelope)?;
    block.write_transaction_start(text);
    text.hash(&row.sender.0 .0);
    write_gas(text, block, &envelope)?;
    text.fixed(b"\",\"hash\":\"0x");
    text.hash(&row.hash.0);
    text.fixed(b"\",\"input\":\"0x");
    text.bytes(envelope.input);
    text.fixed(b"\",\"nonce\":\"0x");
    text.quantity(envelope.nonce);
    write_recipient(text, envelope.to);
    write_index(text, block.pending, index);
    text.fixed(b",\"value\":\"0x");
    text.big_quantity(envelope.value);
    text.fixed(b"\",\"type\":\"0x");
    text.quantity(u64::from(envelope.kind));
    write_typed_members(text, &envelope)?;
    write_signature(text, &envelope);
    Ok(())
}

fn write_gas(text: &mut Writer, block: &BlockContext<'_>, envelope: &Envelope<'_>) -> Result<(), RowError> {
    text.fixed(b"\",\"gas\":\"0x");
    text.quantity(envelope.gas);
    text.fixed(b"\",\"gasPrice\":\"0x");
    text.wide_quantity(envelope.price.effective(block.base_fee)?);
    if let Price::Dynamic { max_priority_fee, max_fee } = envelope.price {
        text.fixed(b"\",\"maxFeePerGas\":\"0x");
        text.big_quantity(max_fee);
        text.fixed(b"\",\"maxPriorityFeePerGas\":\"0x");
        text.big_quantity(max_priority_fee);
    }
    if let Some(fee) = envelope.max_fee_per_blob_gas {
        text.fixed(b"\",\"maxFeePerBlobGas\":\"0x");
        text.big_quantity(fee);
    }
    Ok(())
}

fn write_index(text: &mut Writer, pending: bool, index: usize) {
    if pending {
        return text.fixed(b",\"transactionIndex\":null");
    }
    text.fixed(b",\"transactionIndex\":\"0x");
    text.quantity(index as u64);
    text.fixed(b"\"");
}

fn write_typed_members(text: &mut Writer, envelope: &Envelope<'_>) -> Result<(), RowError> {
    if let Some(access_list) = envelope.access_list {
        text.fixed(b"\",\"accessList\":");
        text.list(access_list.lists(), write_access)?;
        text.fixed(b",\"chainId\":\"0x");
        text.big_quantity(envelope.chain_id.unwrap_or_default());
    } else if let Some(chain_id) = legacy_chain_id(envelope.v)? {
        text.fixed(b"\",\"chainId\":\"0x");
        text.wide_quantity(chain_id);
    }
    if let Some(hashes) = envelope.blob_versioned_hashes {
        text.fixed(b"\",\"blobVersionedHashes\":");
        text.list(hashes.strings(), write_quoted_hash)?;
        text.fixed(b",\"v\":\"0x");
    } else if let Some(authorizations) = envelope.authorization_list {
        text.fixed(b"\",\"authorizationList\":");
        text.list(authorizations.lists(), write_authorization)?;
        text.fixed(b",\"v\":\"0x");
    } else {
        text.fixed(b"\",\"v\":\"0x");
    }
    Ok(())
}

fn write_signature(text: &mut Writer, envelope: &Envelope<'_>) {
    text.big_quantity(envelope.v);
    text.fixed(b"\",\"r\":\"0x");
    text.big_quantity(envelope.r);
    text.fixed(b"\",\"s\":\"0x");
    text.big_quantity(envelope.s);
    if envelope.kind > 0 {
        text.fixed(b"\",\"yParity\":\"0x");
        text.big_quantity(envelope.v);
    }
    text.fixed(b"\"}");
}

fn write_access(text: &mut Writer, mut access: Items<'_>) -> Result<(), RowError> {
    text.fixed(b"{\"address\":\"0x");
    text.hash(access.array::<20>()?);
    text.fixed(b"\",\"storageKeys\":");
    text.list(access.list()?.strings(), write_quoted_hash)?;
    text.fixed(b"}");
    Ok(())
}

fn write_quoted_hash(text: &mut Writer, hash: &[u8]) -> Result<(), RowError> {
    text.fixed(b"\"0x");
    text.hash::<32>(hash.try_into().map_err(|_| RowError::Corrupt("length of a hash"))?);
    text.fixed(b"\"");
    Ok(())
}

fn write_authorization(text: &mut Writer, mut authorization: Items<'_>) -> Result<(), RowError> {
    text.fixed(b"{\"chainId\":\"0x");
    text.big_quantity(authorization.string()?);
    text.fixed(b"\",\"address\":\"0x");
    text.hash(authorization.array::<20>()?);
    text.fixed(b"\",\"nonce\":\"0x");
    text.quantity(authorization.u64()?);
    text.fixed(b"\",\"yParity\":\"0x");
    text.big_quantity(authorization.string()?);
    text.fixed(b"\",\"r\":\"0x");
    text.big_quantity(authorization.string()?);
    text.fixed(b"\",\"s\":\"0x");
    text.big_quantity(authorization.string()?);
    text.fixed(b"\"}");
    Ok(())
}
