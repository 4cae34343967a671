//! The `config` member of genesis.json.

use std::collections::BTreeMap;

use alloy_primitives::{Address, U256};
use serde_json::value::RawValue;

use super::blobs::BlobSchedule;
use super::forks::{Fork, Schedule};
use super::number::{parse, parse_u256, parse_u64};
use crate::error::Error;

/// The rules that `config` sets.
#[derive(Debug)]
pub struct Config {
    pub chain_id: u64,
    pub forks: Schedule,
    pub blobs: BlobSchedule,
    pub terminal_total_difficulty: Option<U256>,
    pub deposit_contract: Option<Address>,
    pub dao_support: bool,
    /// Whether the chain says that it is mined, which decides an absent genesis difficulty.
    pub is_mined: bool,
}

type Members<'a> = BTreeMap<&'a str, &'a RawValue>;

impl Config {
    pub fn parse(text: &RawValue) -> Result<Self, Error> {
        let mut members: BTreeMap<String, &RawValue> = parse("config", text)?;
        members.retain(|_, value| value.get() != "null");
        let members: Members = members.iter().map(|(key, value)| (key.as_str(), *value)).collect();
        refuse_unsupported(&members)?;
        let forks = schedule(&members)?;
        let terminal_total_difficulty = total_difficulty(&members, &forks)?;
        Ok(Self {
            chain_id: chain_id(&members)?,
            blobs: BlobSchedule::parse(members.get("blobSchedule").copied(), &forks)?,
            forks,
            terminal_total_difficulty,
            deposit_contract: deposit_contract(&members)?,
            dao_support: members.get("daoForkSupport").is_some_and(|value| value.get() == "true"),
            is_mined: members.contains_key("ethash"),
        })
    }
}

fn chain_id(members: &Members) -> Result<u64, Error> {
    let value = members.get("chainId").ok_or_else(|| refusal("config.chainId is missing"))?;
    parse_u64("config.chainId", value)
}

fn deposit_contract(members: &Members) -> Result<Option<Address>, Error> {
    members
        .get("depositContractAddress")
        .map(|value| parse("config.depositContractAddress", value))
        .transpose()
}

/// Refuse what would change the rules of the chain in ways that are not known here.
fn refuse_unsupported(members: &Members) -> Result<(), Error> {
    for (key, value) in members {
        let is_fork = key.ends_with("Time") || key.ends_with("Block");
        if is_fork && Fork::of_key(key).is_none() {
            return Err(refusal(&format!("config.{key} names a fork that is not supported")));
        }
        let enables = matches!(*key, "enableVerkleAtGenesis" | "enableUBTAtGenesis") && value.get() == "true";
        if enables || *key == "clique" {
            return Err(refusal(&format!("config.{key} is not supported")));
        }
    }
    Ok(())
}

fn schedule(members: &Members) -> Result<Schedule, Error> {
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

fn total_difficulty(members: &Members, forks: &Schedule) -> Result<Option<U256>, Error> {
    let Some(value) = members.get("terminalTotalDifficulty") else {
        return match forks.activation(Fork::Shanghai) {
            // Without one the chain could never leave proof of work, which ends before Shanghai.
            Some(_) => Err(refusal("config.shanghaiTime is set, but config.terminalTotalDifficulty is not")),
            None => Ok(None),
        };
    };
    parse_u256("config.terminalTotalDifficulty", value).map(Some)
}

pub fn refusal(reason: &str) -> Error {
    Error::InvalidGenesis(format!("genesis: {reason}"))
}
