//! Members of a header, as slices of its RLP.

use alloy_primitives::{Address, B256};

use super::rlp::Items;
use super::RowError;

/// Members of a header in the order of its RLP; `difficulty` is big-endian bytes without leading zeros.
#[derive(Debug, Clone, Copy)]
pub struct HeaderFields<'a> {
    pub parent_hash: &'a B256,
    pub ommers_hash: &'a B256,
    pub beneficiary: &'a Address,
    pub state_root: &'a B256,
    pub transactions_root: &'a B256,
    pub receipts_root: &'a B256,
    pub logs_bloom: &'a [u8; 256],
    pub difficulty: &'a [u8],
    pub number: u64,
    pub gas_limit: u64,
    pub gas_used: u64,
    pub timestamp: u64,
    pub extra_data: &'a [u8],
    pub mix_hash: &'a B256,
    pub nonce: &'a [u8; 8],
    pub base_fee: Option<u64>,
    pub withdrawals_root: Option<&'a B256>,
    pub blob_gas_used: Option<u64>,
    pub excess_blob_gas: Option<u64>,
    pub parent_beacon_block_root: Option<&'a B256>,
    pub requests_hash: Option<&'a B256>,
    pub block_access_list_hash: Option<&'a B256>,
    pub slot_number: Option<u64>,
}

impl<'a> HeaderFields<'a> {
    pub fn new(encoded: &'a [u8]) -> Result<Self, RowError> {
        let mut items = Items::of_list(encoded)?;
        Ok(Self {
            parent_hash: items.array::<32>()?.into(),
            ommers_hash: items.array::<32>()?.into(),
            beneficiary: items.array::<20>()?.into(),
            state_root: items.array::<32>()?.into(),
            transactions_root: items.array::<32>()?.into(),
            receipts_root: items.array::<32>()?.into(),
            logs_bloom: items.array()?,
            difficulty: items.string()?,
            number: items.u64()?,
            gas_limit: items.u64()?,
            gas_used: items.u64()?,
            timestamp: items.u64()?,
            extra_data: items.string()?,
            mix_hash: items.array::<32>()?.into(),
            nonce: items.array()?,
            base_fee: optional_number(&mut items)?,
            withdrawals_root: optional_hash(&mut items)?,
            blob_gas_used: optional_number(&mut items)?,
            excess_blob_gas: optional_number(&mut items)?,
            parent_beacon_block_root: optional_hash(&mut items)?,
            requests_hash: optional_hash(&mut items)?,
            block_access_list_hash: optional_hash(&mut items)?,
            slot_number: optional_number(&mut items)?,
        })
    }
}

fn optional_number(items: &mut Items<'_>) -> Result<Option<u64>, RowError> {
    if items.is_empty() {
        return Ok(None);
    }
    items.u64().map(Some)
}

fn optional_hash<'a>(items: &mut Items<'a>) -> Result<Option<&'a B256>, RowError> {
    if items.is_empty() {
        return Ok(None);
    }
    items.array::<32>().map(|hash| Some(hash.into()))
}
