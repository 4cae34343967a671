//! Rules of a header.

use std::fmt::{self, Display};

use alloy_consensus::Header;
use alloy_eips::eip4844::DATA_GAS_PER_BLOB;
use alloy_primitives::{hex, B256, B64, U256};

use super::fees::{next_base_fee, next_excess_blob_gas, next_fee_terms};
use super::{next_difficulty, Ancestor};
use crate::error::{require_equal, Rule, RuleViolation};
use crate::evm::chain_spec::{
    BaseFee, BlobGas, ChainSpec, ExtraData, Fork, ForkRow, GasLimit, Members, Seal, TimestampRule, FORKS,
    MAXIMUM_DIFFICULTY_BITS,
};

const DAO_EXTRA_DATA: &[u8] = b"dao-hard-fork";
const DAO_MARKED_BLOCKS: u64 = 10;
const MAXIMUM_EXTRA_DATA: usize = 32;
const MINIMUM_GAS_LIMIT: u64 = 5000;
const MAXIMUM_GAS_LIMIT: u64 = i64::MAX as u64;
const GAS_LIMIT_BOUND_DIVISOR: u64 = 1024;
const ELASTICITY_MULTIPLIER: u64 = 2;

/// Return the violation of a block with an unknown parent.
pub fn orphan(header: &Header) -> RuleViolation {
    RuleViolation::new(Rule::ParentHash, "a known block", header.parent_hash)
}

pub fn verify_parent(header: &Header, parent: &Ancestor) -> Result<(), RuleViolation> {
    require_equal(Rule::ParentHash, parent.hash, header.parent_hash)?;
    require_equal(Rule::Number, parent.header.number + 1, header.number)
}

pub fn verify_proof_of_stake(spec: &ChainSpec, header: &Header) -> Result<(), RuleViolation> {
    match spec.header_rules().seal {
        Seal::Ethereum => {
            require_equal(Rule::Difficulty, U256::ZERO, header.difficulty)?;
            require_equal(Rule::Nonce, B64::ZERO, header.nonce)?;
        }
        Seal::Arbitrum => require_equal(Rule::Difficulty, U256::ONE, header.difficulty)?,
        Seal::Authority => {}
    }
    require_equal(Rule::OmmersHash, alloy_consensus::EMPTY_OMMER_ROOT_HASH, header.ommers_hash)
}

pub fn verify_proof_of_work(
    spec: &ChainSpec,
    header: &Header,
    parent: &Ancestor,
) -> Result<(), RuleViolation> {
    if header.timestamp <= parent.header.timestamp {
        return Err(late(header, &parent.header));
    }
    if spec.is_active_at(Fork::Shanghai, header.number, header.timestamp) {
        return Err(RuleViolation::new(
            Rule::Difficulty,
            "proof of stake from Shanghai on",
            header.difficulty,
        ));
    }
    require_equal(
        Rule::Difficulty,
        next_difficulty(spec, header.timestamp, &parent.header),
        header.difficulty,
    )?;
    if header.difficulty.bit_len() > MAXIMUM_DIFFICULTY_BITS {
        let bound = format!("at most {MAXIMUM_DIFFICULTY_BITS} bits");
        return Err(RuleViolation::new(Rule::Difficulty, bound, header.difficulty));
    }
    verify_dao_extra_data(spec, header)
}

/// Header members that a block's maker chose instead of deriving them from the parent.
///
/// Only development chains have them, for tests.
#[derive(Debug, Clone, Copy, Default)]
pub struct Chosen {
    pub gas_limit: Option<u64>,
    pub base_fee: Option<u64>,
}

/// Check the rules that hold before and after the merge, for blocks and for mined ommers.
pub fn verify(
    spec: &ChainSpec,
    header: &Header,
    parent: &Header,
    chosen: Chosen,
) -> Result<(), RuleViolation> {
    let rules = spec.header_rules();
    verify_extra_data(rules.extra_data, header)?;
    verify_time(rules.time, header, parent)?;
    verify_gas(header)?;
    match (chosen.gas_limit, rules.gas_limit) {
        (Some(limit), _) => require_equal(Rule::GasLimit, limit, header.gas_limit)?,
        (None, GasLimit::Ethereum) => verify_gas_limit(spec, header, parent)?,
        (None, GasLimit::Unchecked) => {}
    }
    if is_base_fee_checked(rules.base_fee, parent) {
        let base_fee = chosen.base_fee.or_else(|| next_base_fee(spec, parent));
        require_equal(Rule::BaseFee, shown(base_fee), shown(header.base_fee_per_gas))?;
    }
    if rules.members == Members::Ethereum {
        verify_presence(spec, header)?;
    }
    match rules.blob_gas {
        BlobGas::Ethereum => verify_blob_gas(spec, header, parent),
        BlobGas::Unchecked => Ok(()),
    }
}

fn verify_extra_data(rule: ExtraData, header: &Header) -> Result<(), RuleViolation> {
    let found = || format!("{} bytes", header.extra_data.len());
    match rule {
        ExtraData::Ethereum if header.extra_data.len() > MAXIMUM_EXTRA_DATA => {
            Err(RuleViolation::new(Rule::ExtraData, "at most 32 bytes", found()))
        }
        ExtraData::Arbitrum if header.extra_data.len() != B256::len_bytes() => {
            Err(RuleViolation::new(Rule::ExtraData, "32 bytes, the root of the messages to L1", found()))
        }
        ExtraData::Optimism if !header.extra_data.is_empty() && next_fee_terms(header).is_none() => {
            Err(RuleViolation::new(
                Rule::ExtraData,
                "nothing, or terms of the base fee in 9 or 17 bytes",
                found(),
            ))
        }
        _ => Ok(()),
    }
}

fn is_base_fee_checked(rule: BaseFee, parent: &Header) -> bool {
    match rule {
        BaseFee::Ethereum => true,
        BaseFee::Optimism => next_fee_terms(parent).is_some(),
        BaseFee::Unchecked => false,
    }
}

fn verify_time(rule: TimestampRule, header: &Header, parent: &Header) -> Result<(), RuleViolation> {
    match rule {
        TimestampRule::Ethereum if header.timestamp <= parent.timestamp => Err(late(header, parent)),
        TimestampRule::LaterOrEqual if header.timestamp < parent.timestamp => Err(RuleViolation::new(
            Rule::Timestamp,
            format!("at least {}", parent.timestamp),
            header.timestamp,
        )),
        _ => Ok(()),
    }
}

fn late(header: &Header, parent: &Header) -> RuleViolation {
    RuleViolation::new(Rule::Timestamp, format!("more than {}", parent.timestamp), header.timestamp)
}

fn verify_gas(header: &Header) -> Result<(), RuleViolation> {
    if header.gas_limit > MAXIMUM_GAS_LIMIT {
        return Err(RuleViolation::new(
            Rule::GasLimit,
            format!("at most {MAXIMUM_GAS_LIMIT}"),
            header.gas_limit,
        ));
    }
    if header.gas_used > header.gas_limit {
        let bound = format!("at most {}", header.gas_limit);
        return Err(RuleViolation::new(Rule::GasUsedAboveLimit, bound, header.gas_used));
    }
    Ok(())
}

fn verify_gas_limit(spec: &ChainSpec, header: &Header, parent: &Header) -> Result<(), RuleViolation> {
    let becomes_london = spec.is_london(header.number) && !spec.is_london(parent.number);
    let before = if becomes_london {
        parent.gas_limit.saturating_mul(ELASTICITY_MULTIPLIER)
    } else {
        parent.gas_limit
    };
    let step = before / GAS_LIMIT_BOUND_DIVISOR;
    if before.abs_diff(header.gas_limit) >= step || header.gas_limit < MINIMUM_GAS_LIMIT {
        let bound = format!("less than {step} from {before}, at least {MINIMUM_GAS_LIMIT}");
        return Err(RuleViolation::new(Rule::GasLimit, bound, header.gas_limit));
    }
    Ok(())
}

/// Return the slot number after `parent`'s. The first block with a slot number takes its own block number.
///
/// Blocks of other nodes may skip slots: no rule binds the number (EIP-7843).
pub fn next_slot(parent: &Header) -> u64 {
    parent.slot_number.unwrap_or(parent.number).saturating_add(1)
}

/// Check each fork's header members: present from the fork on, and absent before.
fn verify_presence(spec: &ChainSpec, header: &Header) -> Result<(), RuleViolation> {
    for row in FORKS.iter().filter(|row| !row.header.is_empty()) {
        let wanted = presence(spec.is_active_at(row.fork, header.number, header.timestamp));
        for (rule, is_present) in row.header {
            require_equal(*rule, wanted, presence(is_present(header)))?;
        }
    }
    Ok(())
}

/// Return the newest fork that adds a member present in the header and is not active at the header, or None.
pub fn unscheduled_fork(spec: &ChainSpec, header: &Header) -> Option<&'static ForkRow> {
    FORKS.iter().rev().find(|row| {
        !spec.is_active_at(row.fork, header.number, header.timestamp)
            && row.header.iter().any(|(_, is_present)| is_present(header))
    })
}

fn presence(is_present: bool) -> &'static str {
    if is_present {
        "present"
    } else {
        "absent"
    }
}

fn verify_blob_gas(spec: &ChainSpec, header: &Header, parent: &Header) -> Result<(), RuleViolation> {
    let Some((used, parameters)) = header.blob_gas_used.zip(spec.blob_parameters(header.timestamp)) else {
        return Ok(());
    };
    let maximum = parameters.max_blob_gas_per_block();
    if used > maximum || used % DATA_GAS_PER_BLOB != 0 {
        let bound = format!("a multiple of {DATA_GAS_PER_BLOB}, at most {maximum}");
        return Err(RuleViolation::new(Rule::BlobGasUsed, bound, used));
    }
    require_equal(
        Rule::ExcessBlobGas,
        shown(next_excess_blob_gas(parameters, parent)),
        shown(header.excess_blob_gas),
    )
}

/// Check the mark by which both sides of the DAO fork refuse each other's blocks.
fn verify_dao_extra_data(spec: &ChainSpec, header: &Header) -> Result<(), RuleViolation> {
    let Some((fork, supported)) = spec.dao_fork() else {
        return Ok(());
    };
    let in_range = header.number.checked_sub(fork).is_some_and(|distance| distance < DAO_MARKED_BLOCKS);
    let is_marked = header.extra_data.as_ref() == DAO_EXTRA_DATA;
    if !in_range || is_marked == supported {
        return Ok(());
    }
    let wanted = if supported { "dao-hard-fork" } else { "anything but dao-hard-fork" };
    Err(RuleViolation::new(Rule::DaoExtraData, wanted, hex::encode_prefixed(&header.extra_data)))
}

/// Optional number in a message.
#[derive(PartialEq)]
struct OptionalNumber(Option<u64>);

fn shown(number: impl Into<Option<u64>>) -> OptionalNumber {
    OptionalNumber(number.into())
}

impl Display for OptionalNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(number) => number.fmt(formatter),
            None => formatter.write_str("none"),
        }
    }
}
