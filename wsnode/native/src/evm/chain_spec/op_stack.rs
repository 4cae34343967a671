//! Forks of the OP stack with changes beyond Ethereum's forks.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::number::parse_u64;
use crate::error::Error;

/// Fork that changes precompiled contracts or the fee for data on L1, in the order of activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OpFork {
    Fjord,
    Granite,
    Jovian,
    Karst,
}

/// Keys of op-geth's genesis files for forks of the OP stack. Ethereum's forks in them have their own keys
/// beside these.
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
    // Azul is Base's name for its fork with the changes of Ethereum's Osaka.
    ("azulTime", None),
];

/// Forks and their activation, in seconds since 1970. A fork that is absent is never active.
#[derive(Debug, Clone, Default)]
pub struct OpForks(Vec<(OpFork, u64)>);

impl OpForks {
    /// Return whether `key` activates a fork of the OP stack in a genesis file.
    pub fn has_key(key: &str) -> bool {
        KEYS.iter().any(|(known, _)| *known == key)
    }

    /// Return the forks in `config` of a genesis file.
    pub fn parse(members: &BTreeMap<&str, &RawValue>) -> Result<Self, Error> {
        let named = KEYS.iter().filter_map(|(key, fork)| Some((key, (*fork)?, *members.get(key)?)));
        named
            .map(|(key, fork, raw)| Ok((fork, parse_u64(&format!("config.{key}"), raw)?)))
            .collect::<Result<_, Error>>()
            .map(Self)
    }

    pub fn newest(&self, timestamp: u64) -> Option<OpFork> {
        self.0.iter().filter(|(_, begin)| timestamp >= *begin).map(|(fork, _)| *fork).max()
    }
}
