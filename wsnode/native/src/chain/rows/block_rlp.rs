//! RLP of a block, assembled from its rows.

use alloy_rlp::{Encodable, Header};

use super::{BodyRow, HeaderRow, RowError};

pub fn block_rlp(header: &HeaderRow<'_>, body: &BodyRow<'_>) -> Result<Vec<u8>, RowError> {
    let mut payload = Vec::with_capacity(header.size());
    payload.extend_from_slice(header.rlp());
    push_list(&mut payload, &transactions(body)?);
    push_list(&mut payload, &ommers(body)?);
    payload.extend_from_slice(body.withdrawals_rlp()?.unwrap_or_default());
    let mut block = Vec::with_capacity(payload.len() + 9);
    push_list(&mut block, &payload);
    Ok(block)
}

fn transactions(body: &BodyRow<'_>) -> Result<Vec<u8>, RowError> {
    let mut payload = Vec::new();
    for transaction in body.transaction_rows() {
        match transaction?.envelope {
            legacy @ [0xc0..=0xff, ..] => payload.extend_from_slice(legacy),
            typed => typed.encode(&mut payload),
        }
    }
    Ok(payload)
}

fn ommers(body: &BodyRow<'_>) -> Result<Vec<u8>, RowError> {
    let mut payload = Vec::new();
    for ommer in body.ommer_rows() {
        payload.extend_from_slice(ommer?.rlp);
    }
    Ok(payload)
}

fn push_list(out: &mut Vec<u8>, payload: &[u8]) {
    Header { list: true, payload_length: payload.len() }.encode(out);
    out.extend_from_slice(payload);
}
