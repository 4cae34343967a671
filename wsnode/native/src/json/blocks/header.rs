//! Members of a block object from its header, in alphabetical order as geth prints them.

use alloy_primitives::B256;

use crate::chain::rows::HeaderFields;

use super::bsc::write_milli_timestamp;
use crate::json::Writer;

/// Write `{` and the members up to `timestamp`. With `pending`, hash, bloom and nonce are null.
pub fn write_header(text: &mut Writer, fields: &HeaderFields<'_>, hash: &B256, size: usize, pending: bool) {
    text.fixed(b"{");
    write_gas(text, fields);
    write_sealed(text, b"\"hash\":", &hash.0, pending);
    write_sealed(text, b",\"logsBloom\":", fields.logs_bloom, pending);
    write_milli_timestamp(text, fields);
    text.fixed(b",\"miner\":\"0x");
    text.hash(&fields.beneficiary.0 .0);
    write_hash(text, b"\",\"mixHash\":\"0x", fields.mix_hash);
    write_sealed(text, b"\",\"nonce\":", fields.nonce, pending);
    text.fixed(b",\"number\":\"0x");
    text.quantity(fields.number);
    write_optional_hash(text, b"\",\"parentBeaconBlockRoot\":\"0x", fields.parent_beacon_block_root);
    write_hash(text, b"\",\"parentHash\":\"0x", fields.parent_hash);
    write_hash(text, b"\",\"receiptsRoot\":\"0x", fields.receipts_root);
    write_optional_hash(text, b"\",\"requestsHash\":\"0x", fields.requests_hash);
    write_hash(text, b"\",\"sha3Uncles\":\"0x", fields.ommers_hash);
    text.fixed(b"\",\"size\":\"0x");
    text.quantity(size as u64);
    if let Some(slot) = fields.slot_number {
        text.fixed(b"\",\"slotNumber\":\"0x");
        text.quantity(slot);
    }
    write_hash(text, b"\",\"stateRoot\":\"0x", fields.state_root);
    text.fixed(b"\",\"timestamp\":\"0x");
    text.quantity(fields.timestamp);
    text.fixed(b"\"");
}

fn write_gas(text: &mut Writer, fields: &HeaderFields<'_>) {
    write_optional_quantity(text, b"\"baseFeePerGas\":\"0x", fields.base_fee);
    write_optional_quantity(text, b"\"blobGasUsed\":\"0x", fields.blob_gas_used);
    if let Some(hash) = fields.block_access_list_hash {
        write_hash(text, b"\"blockAccessListHash\":\"0x", hash);
        text.fixed(b"\",");
    }
    text.fixed(b"\"difficulty\":\"0x");
    text.big_quantity(fields.difficulty);
    text.fixed(b"\",");
    write_optional_quantity(text, b"\"excessBlobGas\":\"0x", fields.excess_blob_gas);
    text.fixed(b"\"extraData\":\"0x");
    text.bytes(fields.extra_data);
    text.fixed(b"\",\"gasLimit\":\"0x");
    text.quantity(fields.gas_limit);
    text.fixed(b"\",\"gasUsed\":\"0x");
    text.quantity(fields.gas_used);
    text.fixed(b"\",");
}

/// Write a member that a block has only after it is sealed, or null for a pending block.
fn write_sealed<const N: usize, const M: usize>(
    text: &mut Writer,
    key: &[u8; N],
    bytes: &[u8; M],
    pending: bool,
) {
    text.fixed(key);
    if pending {
        return text.fixed(b"null");
    }
    text.fixed(b"\"0x");
    text.hash(bytes);
    text.fixed(b"\"");
}

/// Write the members `gasLimit` to `extraData` in the order of a header's RLP, without the last quote.
pub fn write_gas_to_extra_data(text: &mut Writer, fields: &HeaderFields<'_>) {
    text.fixed(b"\",\"gasLimit\":\"0x");
    text.quantity(fields.gas_limit);
    text.fixed(b"\",\"gasUsed\":\"0x");
    text.quantity(fields.gas_used);
    text.fixed(b"\",\"timestamp\":\"0x");
    text.quantity(fields.timestamp);
    text.fixed(b"\",\"extraData\":\"0x");
    text.bytes(fields.extra_data);
}

pub fn write_hash<const N: usize>(text: &mut Writer, key: &[u8; N], hash: &B256) {
    text.fixed(key);
    text.hash(&hash.0);
}

fn write_optional_hash<const N: usize>(text: &mut Writer, key: &[u8; N], hash: Option<&B256>) {
    if let Some(hash) = hash {
        write_hash(text, key, hash);
    }
}

fn write_optional_quantity<const N: usize>(text: &mut Writer, key: &[u8; N], number: Option<u64>) {
    if let Some(number) = number {
        text.fixed(key);
        text.quantity(number);
        text.fixed(b"\",");
    }
}
