//! Header alone, as sent to subscribers of `newHeads`.

use alloy_primitives::B256;

use crate::chain::rows::{HeaderFields, HeaderRow, RowError};

use super::bsc::write_milli_timestamp;
use super::header::{write_gas_to_extra_data, write_hash};
use crate::json::Writer;

/// Write the header's members in the order of its RLP, the hash last.
///
/// Unlike a block object it has null for each member that its fork does not know, as geth's header has
/// (core/types/gen_header_json.go).
pub fn render_header(text: &mut Writer, header: &HeaderRow<'_>) -> Result<(), RowError> {
    let fields = header.fields()?;
    text.reserve(2048);
    write_roots(text, &fields);
    write_numbers(text, &fields);
    write_fork_members(text, &fields);
    write_milli_timestamp(text, &fields);
    write_hash(text, b",\"hash\":\"0x", header.hash());
    text.fixed(b"\"}");
    Ok(())
}

fn write_roots(text: &mut Writer, fields: &HeaderFields<'_>) {
    write_hash(text, b"{\"parentHash\":\"0x", fields.parent_hash);
    write_hash(text, b"\",\"sha3Uncles\":\"0x", fields.ommers_hash);
    text.fixed(b"\",\"miner\":\"0x");
    text.hash(&fields.beneficiary.0 .0);
    write_hash(text, b"\",\"stateRoot\":\"0x", fields.state_root);
    write_hash(text, b"\",\"transactionsRoot\":\"0x", fields.transactions_root);
    write_hash(text, b"\",\"receiptsRoot\":\"0x", fields.receipts_root);
    text.fixed(b"\",\"logsBloom\":\"0x");
    text.hash(fields.logs_bloom);
}

fn write_numbers(text: &mut Writer, fields: &HeaderFields<'_>) {
    text.fixed(b"\",\"difficulty\":\"0x");
    text.big_quantity(fields.difficulty);
    text.fixed(b"\",\"number\":\"0x");
    text.quantity(fields.number);
    write_gas_to_extra_data(text, fields);
    write_hash(text, b"\",\"mixHash\":\"0x", fields.mix_hash);
    text.fixed(b"\",\"nonce\":\"0x");
    text.hash(fields.nonce);
    text.fixed(b"\"");
}

fn write_fork_members(text: &mut Writer, fields: &HeaderFields<'_>) {
    write_quantity_or_null(text, b",\"baseFeePerGas\":", fields.base_fee);
    write_hash_or_null(text, b",\"withdrawalsRoot\":", fields.withdrawals_root);
    write_quantity_or_null(text, b",\"blobGasUsed\":", fields.blob_gas_used);
    write_quantity_or_null(text, b",\"excessBlobGas\":", fields.excess_blob_gas);
    write_hash_or_null(text, b",\"parentBeaconBlockRoot\":", fields.parent_beacon_block_root);
    write_hash_or_null(text, b",\"requestsHash\":", fields.requests_hash);
    write_hash_or_null(text, b",\"blockAccessListHash\":", fields.block_access_list_hash);
    write_quantity_or_null(text, b",\"slotNumber\":", fields.slot_number);
}

fn write_quantity_or_null<const N: usize>(text: &mut Writer, key: &[u8; N], number: Option<u64>) {
    text.fixed(key);
    let Some(number) = number else {
        return text.fixed(b"null");
    };
    text.fixed(b"\"0x");
    text.quantity(number);
    text.fixed(b"\"");
}

fn write_hash_or_null<const N: usize>(text: &mut Writer, key: &[u8; N], hash: Option<&B256>) {
    text.fixed(key);
    let Some(hash) = hash else {
        return text.fixed(b"null");
    };
    write_hash(text, b"\"0x", hash);
    text.fixed(b"\"");
}
