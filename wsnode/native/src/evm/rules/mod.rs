//! Rules of a block that need no execution.
//!
//! The seal of a mined block (ethash) is not checked: difficulty and total difficulty are checked, but not
//! the work. A check would need a data set of gigabytes per epoch, and the chains that are still mined are
//! private.

mod body;
mod difficulty;
mod fees;
mod header;
mod ommers;

use alloy_consensus::Header;
use alloy_primitives::{B256, U256};

pub use body::{verify_gas as verify_transaction_gas, MAXIMUM_TRANSACTION_GAS};
pub use difficulty::next_difficulty;
pub use fees::{next_base_fee, next_blob_base_fee, next_excess_blob_gas};
pub use header::{next_slot, unscheduled_fork, Chosen};

use crate::error::RuleViolation;
use crate::evm::block::UnverifiedBlock;
use crate::evm::chain_spec::ChainSpec;

/// Block before the one that is checked.
#[derive(Debug)]
pub struct Ancestor {
    pub header: Header,
    pub hash: B256,
    pub ommers: Vec<Header>,
}

/// Distance in blocks up to which an ommer's parent may lie.
pub const GENERATIONS: usize = 7;

/// Check the body against its header, whose hash the caller has verified.
pub fn verify_body(spec: &ChainSpec, block: &UnverifiedBlock) -> Result<(), RuleViolation> {
    body::verify(spec, block)
}

/// Check every rule that needs no execution.
///
/// `ancestors` are the blocks before `block`, the nearest first: its parent, and as many as exist up to
/// [`GENERATIONS`]. `parent_total_difficulty` decides whether the block must be one of proof of stake.
/// `chosen` holds header members that do not follow from the parent.
pub fn verify(
    spec: &ChainSpec,
    block: &UnverifiedBlock,
    ancestors: &[&Ancestor],
    parent_total_difficulty: U256,
    chosen: Chosen,
) -> Result<(), RuleViolation> {
    let Some(parent) = ancestors.first() else {
        return Err(header::orphan(&block.header));
    };
    header::verify_parent(&block.header, parent)?;
    if spec.is_proof_of_stake(parent_total_difficulty) {
        header::verify_proof_of_stake(spec, &block.header)?;
    } else {
        header::verify_proof_of_work(spec, &block.header, parent)?;
    }
    header::verify(spec, &block.header, &parent.header, chosen)?;
    body::verify(spec, block)?;
    ommers::verify(spec, block, ancestors)
}
