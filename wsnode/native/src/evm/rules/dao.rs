//! Extra data of the blocks at the DAO fork, by which both sides of the fork refuse each other's blocks.

use alloy_consensus::Header;
use alloy_primitives::hex;

use crate::error::{Rule, RuleViolation};
use crate::evm::chain_spec::ChainSpec;

const EXTRA_DATA: &[u8] = b"dao-hard-fork";
const MARKED_BLOCKS: u64 = 10;

pub fn verify_extra_data(spec: &ChainSpec, header: &Header) -> Result<(), RuleViolation> {
    let Some((fork, supported)) = spec.dao_fork() else {
        return Ok(());
    };
    let in_range = header.number.checked_sub(fork).is_some_and(|distance| distance < MARKED_BLOCKS);
    let is_marked = header.extra_data.as_ref() == EXTRA_DATA;
    if !in_range || is_marked == supported {
        return Ok(());
    }
    let wanted = if supported { "dao-hard-fork" } else { "anything but dao-hard-fork" };
    Err(RuleViolation::new(Rule::DaoExtraData, wanted, hex::encode_prefixed(&header.extra_data)))
}
