//! Member `config` of genesis.json.

use std::collections::BTreeMap;

use alloy_primitives::{Address, U256};
use serde_json::value::RawValue;

use super::blobs::BlobSchedule;
use super::family::{Description, Family};
use super::forks::{unknown_fork, Fork, Schedule};
use super::number::{parse, parse_u256, parse_u64};
use super::op_stack::OpForks;
use crate::error::Error;

/// Rules from `config`.
#[derive(Debug)]
pub struct Config {
    pub chain_id: u64,
    pub forks: Schedule,
    pub blobs: BlobSchedule,
    pub terminal_total_difficulty: Option<U256>,
    pub deposit_contract: Option<Address>,
    pub dao_support: bool,
    /// Longest contract code in bytes, if the chain sets its own limit.
    pub code_size_limit: Option<usize>,
    /// True if the chain says that it is mined. This decides the genesis difficulty if that is absent.
    pub is_mined: bool,
    pub op_forks: OpForks,
    /// Description of a chain whose rules are not Ethereum's.
    pub description: Option<Description>,
}

type ConfigEntries<'a> = BTreeMap<&'a str, &'a RawValue>;

/// Highest limit of a contract's code, in bytes; gas bounds code far below.
const MAXIMUM_CODE_SIZE: usize = i32::MAX as usize;

impl Config {
    pub fn parse(text: &RawValue) -> Result<Self, Error> {
        let mut members: BTreeMap<String, &RawValue> = parse("config", text)?;
        members.retain(|_, value| value.get() != "null");
        let members: ConfigEntries = members.iter().map(|(key, value)| (key.as_str(), *value)).collect();
        refuse_unsupported(&members)?;
        let forks = schedule(&members)?;
        let terminal_total_difficulty = total_difficulty(&members, &forks)?;
        Ok(Self {
            chain_id: chain_id(&members)?,
            blobs: blobs(&members, &forks)?,
            forks,
            terminal_total_difficulty,
            deposit_contract: deposit_contract(&members)?,
            dao_support: members.get("daoForkSupport").is_some_and(|value| value.get() == "true"),
            code_size_limit: code_size_limit(&members)?,
            is_mined: members.contains_key("ethash"),
            op_forks: OpForks::parse(&members)?,
            description: description(&members)?,
        })
    }
}

fn chain_id(members: &ConfigEntries) -> Result<u64, Error> {
    let value = members.get("chainId").ok_or_else(|| refusal("config.chainId is missing"))?;
    parse_u64("config.chainId", value)
}

/// Return the chain's description. op-geth's genesis files have a member `optimism` instead.
fn description(members: &ConfigEntries) -> Result<Option<Description>, Error> {
    match (members.get("wsnode"), members.contains_key("optimism")) {
        (Some(value), _) => parse("config.wsnode", value).map(Some),
        (None, is_optimism) => Ok(is_optimism.then(Description::op_stack)),
    }
}

/// Return the blob parameters, with a minimum price of blob gas if the chain has its own. The member
/// `minBlobGasPrice` is named as in reth_gnosis.
fn blobs(members: &ConfigEntries, forks: &Schedule) -> Result<BlobSchedule, Error> {
    let schedule = BlobSchedule::parse(members.get("blobSchedule").copied(), forks)?;
    match members.get("minBlobGasPrice") {
        Some(value) => Ok(schedule.with_least_price(parse_u64("config.minBlobGasPrice", value)?)),
        None => Ok(schedule),
    }
}

/// Return the limit of a contract's code in bytes, if any. The member `contractSizeLimit` is named as in
/// Besu.
fn code_size_limit(members: &ConfigEntries) -> Result<Option<usize>, Error> {
    let Some(value) = members.get("contractSizeLimit") else { return Ok(None) };
    let limit = parse_u64("config.contractSizeLimit", value)?;
    match usize::try_from(limit) {
        Ok(limit) if limit <= MAXIMUM_CODE_SIZE => Ok(Some(limit)),
        _ => Err(refusal(&format!("config.contractSizeLimit is above {MAXIMUM_CODE_SIZE}"))),
    }
}

fn deposit_contract(members: &ConfigEntries) -> Result<Option<Address>, Error> {
    members
        .get("depositContractAddress")
        .map(|value| parse("config.depositContractAddress", value))
        .transpose()
}

/// Return whether the chain is of the OP stack, so that its forks may be named. op-geth's genesis files have
/// a member `optimism`.
fn is_of_op_stack(members: &ConfigEntries) -> Result<bool, Error> {
    let described = description(members)?.is_some_and(|description| description.family == Family::OpStack);
    Ok(described || members.contains_key("optimism"))
}

/// Refuse members that change the rules of the chain in an unknown way.
fn refuse_unsupported(members: &ConfigEntries) -> Result<(), Error> {
    let is_op_stack = is_of_op_stack(members)?;
    for (key, value) in members {
        for (ending, unit) in [("Time", "time"), ("Block", "block")] {
            let is_known = Fork::of_key(key).is_some() || (is_op_stack && OpForks::has_key(key));
            if key.ends_with(ending) && !is_known {
                let member = format!("config.{key}");
                let begin = parse_u64(&member, value).map(|begin| format!(" from {unit} {begin} on"));
                return Err(unknown_fork(&member, &begin.unwrap_or_default()));
            }
        }
        let enables = matches!(*key, "enableVerkleAtGenesis" | "enableUBTAtGenesis") && value.get() == "true";
        if enables || *key == "clique" {
            return Err(refusal(&format!("config.{key} is not supported")));
        }
    }
    Ok(())
}

fn schedule(members: &ConfigEntries) -> Result<Schedule, Error> {
    let mut forks = Schedule::default();
    for (key, value) in members {
        if let Some(fork) = Fork::of_key(key) {
            forks.set(fork, Some(parse_u64(&format!("config.{key}"), value)?));
        }
    }
    if forks.activation(Fork::Petersburg).is_none() {
        forks.set(Fork::Petersburg, forks.activation(Fork::Constantinople));
    }
    match forks.disorder() {
        Some(fault) => Err(refusal(&fault)),
        None => Ok(forks),
    }
}

fn total_difficulty(members: &ConfigEntries, forks: &Schedule) -> Result<Option<U256>, Error> {
    let Some(value) = members.get("terminalTotalDifficulty") else {
        return match forks.activation(Fork::Shanghai) {
            // Without a terminal total difficulty the chain could never leave proof of work, which ends
            // before Shanghai.
            Some(_) => Err(refusal("config.shanghaiTime is set, but config.terminalTotalDifficulty is not")),
            None => Ok(None),
        };
    };
    parse_u256("config.terminalTotalDifficulty", value).map(Some)
}

pub fn refusal(reason: &str) -> Error {
    Error::InvalidGenesis(format!("genesis: {reason}"))
}
