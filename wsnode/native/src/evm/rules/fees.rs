//! The fees of the next block: gas and blob gas.

use alloy_consensus::Header;
use alloy_eips::eip1559::INITIAL_BASE_FEE;
use alloy_eips::eip1559::{calc_next_block_base_fee, BaseFeeParams};
use alloy_eips::eip7840::BlobParams;

use crate::evm::chain_spec::ChainSpec;

/// The base fee of the block after `parent`, or nothing before London.
pub fn next_base_fee(spec: &ChainSpec, parent: &Header) -> Option<u64> {
    if !spec.is_london(parent.number + 1) {
        return None;
    }
    let next =
        |fee| calc_next_block_base_fee(parent.gas_used, parent.gas_limit, fee, BaseFeeParams::ethereum());
    Some(parent.base_fee_per_gas.map_or(INITIAL_BASE_FEE, next))
}

/// The price of blob gas of the block after `parent` if it has the rules of `parent`, or nothing before blobs.
pub fn next_blob_base_fee(spec: &ChainSpec, parent: &Header) -> Option<u128> {
    parent.excess_blob_gas?;
    let parameters = spec.blob_parameters(parent.timestamp)?;
    Some(parameters.calc_blob_fee(next_excess_blob_gas(parameters, parent)))
}

/// The excess blob gas of a block under `parameters` after `parent`, which may not have had blobs.
pub fn next_excess_blob_gas(parameters: BlobParams, parent: &Header) -> u64 {
    parameters.next_block_excess_blob_gas_osaka(
        parent.excess_blob_gas.unwrap_or(0),
        parent.blob_gas_used.unwrap_or(0),
        parent.base_fee_per_gas.unwrap_or(0),
    )
}
