//! Header of a simulated block before its calls.

use alloy_consensus::{Header, EMPTY_OMMER_ROOT_HASH};
use alloy_eips::eip1559::INITIAL_BASE_FEE;
use alloy_primitives::{B256, U256};

use super::plan::Planned;
use super::request::BlockOverrides;
use crate::error::Error;
use crate::evm::call::refusal::refuse;
use crate::evm::chain_spec::{ChainSpec, Fork};
use crate::evm::rules::{next_base_fee, next_excess_blob_gas, next_slot};

#[derive(Debug, Clone)]
pub struct SimulationParent {
    pub header: Header,
    pub hash: B256,
}

/// Begin the header of the block after `parent`. Without an override, the base fee is zero unless
/// `is_strict`.
pub fn begin(
    spec: &ChainSpec,
    parent: &SimulationParent,
    planned: &Planned,
    is_strict: bool,
) -> Result<Header, Error> {
    let Planned { number, timestamp, block } = planned;
    let (wanted, before) = (&block.overrides, &parent.header);
    let active = |fork| spec.is_active_at(fork, *number, *timestamp);
    let blobs = spec.blob_parameters(*timestamp).filter(|_| active(Fork::Cancun));
    Ok(Header {
        parent_hash: parent.hash,
        ommers_hash: EMPTY_OMMER_ROOT_HASH,
        beneficiary: wanted.fee_recipient.unwrap_or(before.beneficiary),
        difficulty: difficulty(spec, parent, planned)?,
        number: *number,
        gas_limit: wanted.gas_limit.map_or(before.gas_limit, |limit| limit.to()),
        timestamp: *timestamp,
        mix_hash: wanted.prev_randao.unwrap_or_default(),
        base_fee_per_gas: base_fee(spec, before, wanted, is_strict)?,
        excess_blob_gas: blobs.map(|parameters| next_excess_blob_gas(parameters, before)),
        parent_beacon_block_root: blobs.map(|_| wanted.beacon_root.unwrap_or_default()),
        slot_number: active(Fork::Amsterdam).then(|| next_slot(before)),
        ..Header::default()
    })
}

fn base_fee(
    spec: &ChainSpec,
    parent: &Header,
    wanted: &BlockOverrides,
    is_strict: bool,
) -> Result<Option<u64>, Error> {
    // A parent before London has a base fee only if an override gave it one, and the next base fee does not
    // follow from it.
    let next = match next_base_fee(spec, parent) {
        Some(_) if !spec.is_london(parent.number) => Some(INITIAL_BASE_FEE),
        next => next,
    };
    let Some(wanted) = wanted.base_fee_per_gas else {
        return Ok(next.map(|fee| if is_strict { fee } else { 0 }));
    };
    let narrow = wanted.try_into();
    let too_large = |_| refuse("unsupported", format!("base fee per gas {wanted} exceeds 64 bits"));
    narrow.map(Some).map_err(too_large)
}

/// Return the difficulty of a block: zero if the parent has none or the merge is over.
///
/// # Errors
/// If the caller sets a difficulty after the merge.
fn difficulty(spec: &ChainSpec, parent: &SimulationParent, planned: &Planned) -> Result<U256, Error> {
    let (before, wanted) = (parent.header.difficulty, planned.block.overrides.difficulty);
    if !before.is_zero() && !is_merged(spec, planned) {
        return Ok(wanted.unwrap_or(before));
    }
    if wanted.is_some() {
        let words = "difficulty override is not allowed after the merge";
        return Err(refuse("difficulty", format!("block {}: {words}", planned.number)));
    }
    Ok(U256::ZERO)
}

fn is_merged(spec: &ChainSpec, Planned { number, timestamp, .. }: &Planned) -> bool {
    let from_genesis = spec.is_proof_of_stake(U256::ZERO);
    from_genesis
        || spec.is_active(Fork::Paris, *number)
        || spec.is_active_at(Fork::Shanghai, *number, *timestamp)
}
