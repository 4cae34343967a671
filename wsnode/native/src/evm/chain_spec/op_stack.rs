//! Forks of the OP stack that change what Ethereum's forks do not.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::number::parse_u64;
use crate::error::Error;

/// A fork that changes precompiled contracts or the fee for data on L1, in the order in which chains activate them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OpFork {
    Fjord,
    Granite,
    Jovian,
    Karst,
}

/// Keys of op-geth's genesis files for forks of the family; those of Ethereum that they contain stand beside them.
const KEYS: [(&str, Option<OpFork>); 11] = [
    ("bedrockBlock", None),
    ("regolithTime", None),
    ("canyonTime", None),
    ("ecotoneTime", None),
    ("fjordTime", Some(OpFork::Fjord)),
    ("graniteTime", Some(OpFork::Granite)),
    ("holoceneTime", None),
    ("isthmusTime", None),
    ("jovianTime", Some(OpFork::Jovian)),
    ("karstTime", Some(OpFork::Karst)),
    // Base's name for its fork with Ethereum's Osaka.
    ("azulTime", None),
];

/// When the forks begin, in seconds since 1970; those that are not named never do.
#[derive(Debug, Clone, Default)]
pub struct OpForks(Vec<(OpFork, u64)>);

impl OpForks {
    /// Whether a genesis file names a fork of the family by this key.
    pub fn has_key(key: &str) -> bool {
        KEYS.iter().any(|(known, _)| *known == key)
    }

    /// The forks that `config` of a genesis file names.
    pub fn parse(members: &BTreeMap<&str, &RawValue>) -> Result<Self, Error> {
        let named = KEYS.iter().filter_map(|(key, fork)| Some((key, (*fork)?, *members.get(key)?)));
        named
            .map(|(key, fork, raw)| Ok((fork, parse_u64(&format!("config.{key}"), raw)?)))
            .collect::<Result<_, Error>>()
            .map(Self)
    }

    /// The newest one that is active.
    pub fn newest(&self, timestamp: u64) -> Option<OpFork> {
        self.0.iter().filter(|(_, begin)| timestamp >= *begin).map(|(fork, _)| *fork).max()
    }
}
