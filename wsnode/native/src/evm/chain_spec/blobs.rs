//! Blob parameters: which targets, limits and fee fractions are in force when.

use std::collections::BTreeMap;

use alloy_consensus::Header;
use alloy_eips::eip7594::MAX_BLOBS_PER_TX_FUSAKA;
use alloy_eips::eip7840::{BlobParams, BLOB_BASE_COST};
use serde_json::value::RawValue;

use super::forks::{Fork, Schedule};
use super::number::{parse, parse_u64};
use super::ChainSpec;
use crate::error::Error;

/// Blob parameters by the time from which they hold, the oldest first.
#[derive(Debug, Clone, Default)]
pub struct BlobSchedule(Vec<(u64, BlobParams)>);

/// Leaves room to multiply with the gas of that many blobs.
const LARGEST_MAXIMUM: u64 = 1 << 20;

type Members<'a> = BTreeMap<String, &'a RawValue>;

const NAMES: [(Fork, &str); 8] = [
    (Fork::Cancun, "cancun"),
    (Fork::Prague, "prague"),
    (Fork::Osaka, "osaka"),
    (Fork::Bpo1, "bpo1"),
    (Fork::Bpo2, "bpo2"),
    (Fork::Bpo3, "bpo3"),
    (Fork::Bpo4, "bpo4"),
    (Fork::Bpo5, "bpo5"),
];

impl BlobSchedule {
    /// The schedule of the forks that are activated; Cancun, Prague and Osaka have the mainnet's values unless given.
    pub fn parse(schedule: Option<&RawValue>, forks: &Schedule) -> Result<Self, Error> {
        let entries: Members = schedule.map_or(Ok(Members::new()), |raw| parse("blobSchedule", raw))?;
        let mut blobs = Vec::new();
        for (fork, name) in NAMES {
            if let Some(begin) = forks.activation(fork) {
                let entry = entries.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
                let given = parameters(fork, name, entry.map(|found| *found.1))?;
                let is_osaka = forks.active_at_time(Fork::Osaka, begin);
                blobs.push((begin, if is_osaka { under_osaka(given) } else { before_osaka(given) }));
            }
        }
        Ok(Self(blobs))
    }

    pub fn at(&self, timestamp: u64) -> Option<BlobParams> {
        self.0.iter().rev().find(|(begin, _)| timestamp >= *begin).map(|(_, parameters)| *parameters)
    }
}

fn parameters(fork: Fork, name: &str, entry: Option<&RawValue>) -> Result<BlobParams, Error> {
    match (entry, fork) {
        (Some(raw), _) => read(name, raw),
        (None, Fork::Cancun) => Ok(BlobParams::cancun()),
        (None, Fork::Prague) => Ok(BlobParams::prague()),
        (None, Fork::Osaka) => Ok(BlobParams::osaka()),
        (None, _) => {
            let message = format!("genesis: {} is set, but blobSchedule has no {name}", fork.key());
            Err(Error::InvalidGenesis(message))
        }
    }
}

fn before_osaka(given: BlobParams) -> BlobParams {
    given.with_max_blobs_per_tx(given.max_blob_count)
}

/// Osaka bounds the blobs of a transaction, and ties their price to that of gas.
fn under_osaka(given: BlobParams) -> BlobParams {
    given.with_max_blobs_per_tx(MAX_BLOBS_PER_TX_FUSAKA).with_blob_base_cost(BLOB_BASE_COST)
}

fn read(name: &str, raw: &RawValue) -> Result<BlobParams, Error> {
    let members: Members = parse(&format!("blobSchedule.{name}"), raw)?;
    let member = |key: &str| {
        let path = format!("blobSchedule.{name}.{key}");
        let value =
            members.get(key).ok_or_else(|| Error::InvalidGenesis(format!("genesis: {path} is missing")))?;
        parse_u64(&path, value)
    };
    let (target, max, fraction) = (member("target")?, member("max")?, member("baseFeeUpdateFraction")?);
    if fraction == 0 || max == 0 || target > max || max > LARGEST_MAXIMUM {
        return Err(Error::InvalidGenesis(format!("genesis: blobSchedule.{name} is out of range")));
    }
    Ok(BlobParams {
        target_blob_count: target,
        max_blob_count: max,
        update_fraction: fraction.into(),
        ..BlobParams::cancun()
    })
}

/// The price of blob gas in a block, or nothing before blobs; 2^128 - 1 stands for every price above.
pub fn blob_base_fee(spec: &ChainSpec, header: &Header) -> Option<u128> {
    let excess = header.excess_blob_gas?;
    Some(spec.blob_parameters(header.timestamp)?.calc_blob_fee(excess))
}
