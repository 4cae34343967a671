//! Fees of the next block: base fee and price of blob gas.

use alloy_consensus::Header;
use alloy_eips::eip1559::INITIAL_BASE_FEE;
use alloy_eips::eip1559::{calc_next_block_base_fee, BaseFeeParams};
use alloy_eips::eip7840::BlobParams;

use crate::evm::chain_spec::{BaseFee, ChainSpec};

/// Return the base fee of the block after `parent` in wei per gas, or None before London.
///
/// On a chain with an unknown rule it is the parent's own.
pub fn next_base_fee(spec: &ChainSpec, parent: &Header) -> Option<u64> {
    if !spec.is_london(parent.number + 1) {
        return None;
    }
    match (spec.header_rules().base_fee, next_fee_terms(parent)) {
        (BaseFee::Ethereum, _) => {}
        (BaseFee::Optimism, Some(terms)) => {
            return parent.base_fee_per_gas.map(|fee| terms.next(parent, fee))
        }
        (BaseFee::Optimism, None) | (BaseFee::Unchecked, _) => return parent.base_fee_per_gas,
    }
    let next =
        |fee| calc_next_block_base_fee(parent.gas_used, parent.gas_limit, fee, BaseFeeParams::ethereum());
    Some(parent.base_fee_per_gas.map_or(INITIAL_BASE_FEE, next))
}

/// Parameters of the next block's base fee in an OP stack header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeeTerms {
    denominator: u32,
    elasticity: u32,
    /// Minimum base fee in wei, from Jovian on.
    least: Option<u64>,
}

/// Return the parameters in the extra data of a block, or None if it has none, as before Holocene
/// (specs.optimism.io: protocol/holocene, protocol/jovian).
pub fn next_fee_terms(header: &Header) -> Option<FeeTerms> {
    let data = &header.extra_data;
    let number = |at: usize| data.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
    let least = match (data.first(), data.len()) {
        (Some(0), 9) => None,
        (Some(1), 17) => Some(u64::from_be_bytes(data[9..].try_into().ok()?)),
        _ => return None,
    };
    let (denominator, elasticity) = (number(1)?, number(5)?);
    (denominator > 0 && elasticity > 0).then_some(FeeTerms { denominator, elasticity, least })
}

impl FeeTerms {
    /// Return the base fee of the block after `parent`, in wei per gas. `fee` is the parent's.
    fn next(&self, parent: &Header, fee: u64) -> u64 {
        // From Jovian on, the footprint of the data is metered, too. The header has it in place of blob gas.
        let footprint = self.least.and(parent.blob_gas_used).unwrap_or(0);
        let parameters = BaseFeeParams::new(self.denominator.into(), self.elasticity.into());
        let next =
            calc_next_block_base_fee(parent.gas_used.max(footprint), parent.gas_limit, fee, parameters);
        next.max(self.least.unwrap_or(0))
    }
}

/// Return the price of blob gas in wei of the block after `parent`, by the parent's blob parameters; None
/// before blobs.
pub fn next_blob_base_fee(spec: &ChainSpec, parent: &Header) -> Option<u128> {
    parent.excess_blob_gas?;
    let parameters = spec.blob_parameters(parent.timestamp)?;
    Some(parameters.calc_blob_fee(next_excess_blob_gas(parameters, parent)))
}

/// Return the excess blob gas of a block under `parameters` after `parent`. A parent without blobs counts as
/// zero.
pub fn next_excess_blob_gas(parameters: BlobParams, parent: &Header) -> u64 {
    parameters.next_block_excess_blob_gas_osaka(
        parent.excess_blob_gas.unwrap_or(0),
        parent.blob_gas_used.unwrap_or(0),
        parent.base_fee_per_gas.unwrap_or(0),
    )
}
