//! Block hashes by the four formulas of `HashFormula`.

use starknet_types_core::felt::Felt;
use starknet_types_core::hash::{Pedersen, Poseidon, StarkHash};

use super::codec::{AvailabilityMode, GasPrice, UnverifiedBlock};
use super::commitments::Commitments;
use super::error::BlockError;
use super::version::HashFormula;
use crate::starknet::felts::short_string;

/// Inputs of a block hash that are computed from the block's transactions and state diff.
pub struct Contents {
    pub transaction_count: u64,
    pub event_count: u64,
    pub commitments: Commitments,
    /// Commitment to the state diff and its length; both zero if the formula does not cover it.
    pub state_diff: (Felt, u64),
}

/// Return the hash of a block with these contents; refuse a block without a price or mode that the formula covers.
pub fn block_hash(
    block: &UnverifiedBlock<'_>,
    contents: &Contents,
    formula: HashFormula,
    chain_id: Felt,
) -> Result<Felt, BlockError> {
    match formula {
        HashFormula::Genesis => Ok(genesis(block, contents, chain_id)),
        HashFormula::Pedersen => Ok(pedersen(block, contents)),
        HashFormula::Poseidon => poseidon(block, contents, "STARKNET_BLOCK_HASH0", l1_prices(block)?),
        HashFormula::PoseidonWithL2Gas => {
            let mut prices = vec![short_string("STARKNET_GAS_PRICES0")];
            prices.extend(l1_prices(block)?);
            prices.extend(price("l2_gas_price", block.l2_gas_price)?);
            poseidon(block, contents, "STARKNET_BLOCK_HASH1", vec![Poseidon::hash_array(&prices)])
        }
    }
}

fn genesis(block: &UnverifiedBlock<'_>, contents: &Contents, chain_id: Felt) -> Felt {
    Pedersen::hash_array(&[
        Felt::from(block.block_number),
        block.new_root,
        Felt::ZERO, // the sequencer
        Felt::ZERO, // the time
        Felt::from(contents.transaction_count),
        contents.commitments.transactions,
        Felt::ZERO, // events and their number
        Felt::ZERO,
        Felt::ZERO, // a version, and more that never came
        Felt::ZERO,
        chain_id,
        block.parent_hash,
    ])
}

fn pedersen(block: &UnverifiedBlock<'_>, contents: &Contents) -> Felt {
    Pedersen::hash_array(&[
        Felt::from(block.block_number),
        block.new_root,
        block.sequencer_address,
        Felt::from(block.timestamp),
        Felt::from(contents.transaction_count),
        contents.commitments.transactions,
        Felt::from(contents.event_count),
        contents.commitments.events,
        Felt::ZERO, // a version, and more that never came
        Felt::ZERO,
        block.parent_hash,
    ])
}

fn poseidon(
    block: &UnverifiedBlock<'_>,
    contents: &Contents,
    name: &str,
    prices: Vec<Felt>,
) -> Result<Felt, BlockError> {
    let mut values = vec![
        short_string(name),
        Felt::from(block.block_number),
        block.new_root,
        block.sequencer_address,
        Felt::from(block.timestamp),
        counts(block, contents)?,
        contents.state_diff.0,
        contents.commitments.transactions,
        contents.commitments.events,
        contents.commitments.receipts,
    ];
    values.extend(prices);
    values.extend([short_string(&block.starknet_version), Felt::ZERO, block.parent_hash]);
    Ok(Poseidon::hash_array(&values))
}

/// Return the packed counts: of transactions, of events, and the state diff length, 64 bits each from the highest on.
///
/// The highest of the remaining 64 bits is set if the state diff is published as a blob.
fn counts(block: &UnverifiedBlock<'_>, contents: &Contents) -> Result<Felt, BlockError> {
    let mode = block.l1_da_mode.ok_or_else(|| BlockError::malformed("l1_da_mode", "it is missing"))?;
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&contents.transaction_count.to_be_bytes());
    bytes[8..16].copy_from_slice(&contents.event_count.to_be_bytes());
    bytes[16..24].copy_from_slice(&contents.state_diff.1.to_be_bytes());
    bytes[24] = if mode == AvailabilityMode::Blob { 0x80 } else { 0 };
    Ok(Felt::from_bytes_be(&bytes))
}

fn l1_prices(block: &UnverifiedBlock<'_>) -> Result<Vec<Felt>, BlockError> {
    let gas = price("l1_gas_price", block.l1_gas_price)?;
    let data_gas = price("l1_data_gas_price", block.l1_data_gas_price)?;
    Ok([gas, data_gas].concat())
}

fn price(member: &str, price: Option<GasPrice>) -> Result<[Felt; 2], BlockError> {
    let price = price.ok_or_else(|| BlockError::malformed(member, "it is missing"))?;
    Ok([price.price_in_wei, price.price_in_fri])
}
