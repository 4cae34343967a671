//! The rules of a header.

use std::fmt::{self, Display};

use alloy_consensus::Header;
use alloy_eips::eip4844::DATA_GAS_PER_BLOB;
use alloy_primitives::{B64, U256};

use super::fees::{next_base_fee, next_excess_blob_gas};
use super::{dao, next_difficulty, Ancestor};
use crate::error::{demand, Broken, Rule};
use crate::evm::chain_spec::{ChainSpec, Fork, MAXIMUM_DIFFICULTY_BITS};

const MAXIMUM_EXTRA_DATA: usize = 32;
const MINIMUM_GAS_LIMIT: u64 = 5000;
const MAXIMUM_GAS_LIMIT: u64 = i64::MAX as u64;
const GAS_LIMIT_BOUND_DIVISOR: u64 = 1024;
const ELASTICITY_MULTIPLIER: u64 = 2;

/// The error of a block with an unknown parent.
pub fn orphan(header: &Header) -> Broken {
    Broken::new(Rule::ParentHash, "a known block", header.parent_hash)
}

pub fn verify_parent(header: &Header, parent: &Ancestor) -> Result<(), Broken> {
    demand(Rule::ParentHash, parent.hash, header.parent_hash)?;
    demand(Rule::Number, parent.header.number + 1, header.number)
}

pub fn verify_proof_of_stake(header: &Header) -> Result<(), Broken> {
    demand(Rule::Difficulty, U256::ZERO, header.difficulty)?;
    demand(Rule::Nonce, B64::ZERO, header.nonce)?;
    demand(Rule::OmmersHash, alloy_consensus::EMPTY_OMMER_ROOT_HASH, header.ommers_hash)
}

pub fn verify_proof_of_work(spec: &ChainSpec, header: &Header, parent: &Ancestor) -> Result<(), Broken> {
    if header.timestamp <= parent.header.timestamp {
        return Err(late(header, &parent.header));
    }
    if spec.is_active_at(Fork::Shanghai, header.number, header.timestamp) {
        return Err(Broken::new(Rule::Difficulty, "proof of stake from Shanghai on", header.difficulty));
    }
    demand(Rule::Difficulty, next_difficulty(spec, header.timestamp, &parent.header), header.difficulty)?;
    if header.difficulty.bit_len() > MAXIMUM_DIFFICULTY_BITS {
        let bound = format!("at most {MAXIMUM_DIFFICULTY_BITS} bits");
        return Err(Broken::new(Rule::Difficulty, bound, header.difficulty));
    }
    dao::verify_extra_data(spec, header)
}

/// Header members that a block's maker chose instead of deriving them from the parent.
///
/// Only development chains have them, for tests.
#[derive(Debug, Clone, Copy, Default)]
pub struct Chosen {
    pub gas_limit: Option<u64>,
    pub base_fee: Option<u64>,
}

/// The rules that hold before and after the merge, for blocks and for mined ommers.
pub fn verify(spec: &ChainSpec, header: &Header, parent: &Header, chosen: Chosen) -> Result<(), Broken> {
    if header.extra_data.len() > MAXIMUM_EXTRA_DATA {
        let found = format!("{} bytes", header.extra_data.len());
        return Err(Broken::new(Rule::ExtraData, "at most 32 bytes", found));
    }
    if header.timestamp <= parent.timestamp {
        return Err(late(header, parent));
    }
    verify_gas(header)?;
    match chosen.gas_limit {
        Some(limit) => demand(Rule::GasLimit, limit, header.gas_limit)?,
        None => verify_gas_limit(spec, header, parent)?,
    }
    let base_fee = chosen.base_fee.or_else(|| next_base_fee(spec, parent));
    demand(Rule::BaseFee, shown(base_fee), shown(header.base_fee_per_gas))?;
    verify_presence(spec, header)?;
    verify_blob_gas(spec, header, parent)
}

fn late(header: &Header, parent: &Header) -> Broken {
    Broken::new(Rule::Timestamp, format!("more than {}", parent.timestamp), header.timestamp)
}

fn verify_gas(header: &Header) -> Result<(), Broken> {
    if header.gas_limit > MAXIMUM_GAS_LIMIT {
        return Err(Broken::new(Rule::GasLimit, format!("at most {MAXIMUM_GAS_LIMIT}"), header.gas_limit));
    }
    if header.gas_used > header.gas_limit {
        let bound = format!("at most {}", header.gas_limit);
        return Err(Broken::new(Rule::GasUsedAboveLimit, bound, header.gas_used));
    }
    Ok(())
}

fn verify_gas_limit(spec: &ChainSpec, header: &Header, parent: &Header) -> Result<(), Broken> {
    let becomes_london = spec.is_london(header.number) && !spec.is_london(parent.number);
    let before = if becomes_london {
        parent.gas_limit.saturating_mul(ELASTICITY_MULTIPLIER)
    } else {
        parent.gas_limit
    };
    let step = before / GAS_LIMIT_BOUND_DIVISOR;
    if before.abs_diff(header.gas_limit) >= step || header.gas_limit < MINIMUM_GAS_LIMIT {
        let bound = format!("less than {step} from {before}, at least {MINIMUM_GAS_LIMIT}");
        return Err(Broken::new(Rule::GasLimit, bound, header.gas_limit));
    }
    Ok(())
}

/// Members that a fork adds are there from that fork on and not before.
fn verify_presence(spec: &ChainSpec, header: &Header) -> Result<(), Broken> {
    let active = |fork| spec.is_active_at(fork, header.number, header.timestamp);
    let (shanghai, cancun, prague) = (active(Fork::Shanghai), active(Fork::Cancun), active(Fork::Prague));
    let members = [
        (Rule::WithdrawalsPresence, shanghai, header.withdrawals_root.is_some()),
        (Rule::BlobGasUsed, cancun, header.blob_gas_used.is_some()),
        (Rule::ExcessBlobGas, cancun, header.excess_blob_gas.is_some()),
        (Rule::ParentBeaconBlockRoot, cancun, header.parent_beacon_block_root.is_some()),
        (Rule::RequestsHash, prague, header.requests_hash.is_some()),
    ];
    members.into_iter().try_for_each(|(rule, wanted, found)| demand(rule, presence(wanted), presence(found)))
}

fn presence(is_present: bool) -> &'static str {
    if is_present {
        "present"
    } else {
        "absent"
    }
}

fn verify_blob_gas(spec: &ChainSpec, header: &Header, parent: &Header) -> Result<(), Broken> {
    let Some((used, parameters)) = header.blob_gas_used.zip(spec.blob_parameters(header.timestamp)) else {
        return Ok(());
    };
    let maximum = parameters.max_blob_gas_per_block();
    if used > maximum || used % DATA_GAS_PER_BLOB != 0 {
        let bound = format!("a multiple of {DATA_GAS_PER_BLOB}, at most {maximum}");
        return Err(Broken::new(Rule::BlobGasUsed, bound, used));
    }
    demand(
        Rule::ExcessBlobGas,
        shown(next_excess_blob_gas(parameters, parent)),
        shown(header.excess_blob_gas),
    )
}

/// A number that may be absent, for a message.
#[derive(PartialEq)]
struct Shown(Option<u64>);

fn shown(number: impl Into<Option<u64>>) -> Shown {
    Shown(number.into())
}

impl Display for Shown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(number) => number.fmt(formatter),
            None => formatter.write_str("none"),
        }
    }
}
