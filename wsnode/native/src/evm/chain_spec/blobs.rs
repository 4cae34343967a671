//! Blob parameters: target, limit and fee fraction by the time from which they are in force.

use std::collections::BTreeMap;

use alloy_consensus::Header;
use alloy_eips::eip7594::MAX_BLOBS_PER_TX_FUSAKA;
use alloy_eips::eip7840::{BlobParams, BLOB_BASE_COST};
use serde_json::value::RawValue;

use super::forks::{unknown_fork, DefaultBlobs, Fork, ForkRow, Schedule, TABLE};
use super::number::{parse, parse_u64};
use super::ChainSpec;
use crate::error::Error;

/// Blob parameters by the time from which they hold, in ascending order.
#[derive(Debug, Clone, Default)]
pub struct BlobSchedule(Vec<(u64, BlobParams)>);

/// Highest blob limit. Its blobs' gas fits into 64 bits.
const MAX_BLOBS: u64 = 1 << 20;

type ScheduleEntries<'a> = BTreeMap<String, &'a RawValue>;

impl BlobSchedule {
    /// Return the schedule of the activated forks. Cancun, Prague and Osaka have the mainnet's values by
    /// default.
    pub fn parse(schedule: Option<&RawValue>, forks: &Schedule) -> Result<Self, Error> {
        let entries: ScheduleEntries =
            schedule.map_or(Ok(ScheduleEntries::new()), |raw| parse("blobSchedule", raw))?;
        let is_known = |key: &str| TABLE.iter().any(|row| row.blob_entry().eq_ignore_ascii_case(key));
        if let Some(unknown) = entries.keys().find(|key| !is_known(key)) {
            return Err(unknown_fork(&format!("blobSchedule.{unknown}"), ""));
        }
        let mut blobs = Vec::new();
        for row in &TABLE {
            let entry = entries.iter().find(|(key, _)| key.eq_ignore_ascii_case(row.blob_entry()));
            let Some(begin) = forks.activation(row.fork).filter(|_| row.is_by_time()) else {
                continue;
            };
            if let Some(given) = parameters(row, entry.map(|found| *found.1))? {
                let is_osaka = forks.active_at_time(Fork::Osaka, begin);
                blobs.push((begin, if is_osaka { under_osaka(given) } else { before_osaka(given) }));
            }
        }
        blobs.sort_by_key(|(begin, _)| *begin);
        Ok(Self(blobs))
    }

    /// Return the same schedule with a minimum price of blob gas, in wei.
    pub fn with_least_price(mut self, price: u64) -> Self {
        self.0.iter_mut().for_each(|(_, parameters)| parameters.min_blob_fee = price.max(1).into());
        self
    }

    pub fn at(&self, timestamp: u64) -> Option<BlobParams> {
        self.0.iter().rev().find(|(begin, _)| timestamp >= *begin).map(|(_, parameters)| *parameters)
    }
}

/// Return the blob parameters that a fork sets, or None if it keeps those before it.
fn parameters(row: &ForkRow, entry: Option<&RawValue>) -> Result<Option<BlobParams>, Error> {
    match (entry, row.blobs) {
        (Some(_), DefaultBlobs::Unchanged) if row.fork < Fork::Cancun => Ok(None),
        (Some(raw), _) => read(row.blob_entry(), raw).map(Some),
        (None, DefaultBlobs::Unchanged) => Ok(None),
        (None, DefaultBlobs::Mainnet(parameters)) => Ok(Some(parameters())),
        (None, DefaultBlobs::Missing) => {
            let message =
                format!("genesis: {} is set, but blobSchedule has no {}", row.key, row.blob_entry());
            Err(Error::InvalidGenesis(message))
        }
    }
}

fn before_osaka(given: BlobParams) -> BlobParams {
    given.with_max_blobs_per_tx(given.max_blob_count)
}

/// Return the parameters of a fork from Osaka on: it bounds the blobs of a transaction (EIP-7594) and ties
/// their price to the base fee (EIP-7918).
fn under_osaka(given: BlobParams) -> BlobParams {
    given.with_max_blobs_per_tx(MAX_BLOBS_PER_TX_FUSAKA).with_blob_base_cost(BLOB_BASE_COST)
}

fn read(name: &str, raw: &RawValue) -> Result<BlobParams, Error> {
    let members: ScheduleEntries = parse(&format!("blobSchedule.{name}"), raw)?;
    let member = |key: &str| {
        let path = format!("blobSchedule.{name}.{key}");
        let value =
            members.get(key).ok_or_else(|| Error::InvalidGenesis(format!("genesis: {path} is missing")))?;
        parse_u64(&path, value)
    };
    let (target, max, fraction) = (member("target")?, member("max")?, member("baseFeeUpdateFraction")?);
    if fraction == 0 || max == 0 || target > max || max > MAX_BLOBS {
        return Err(Error::InvalidGenesis(format!("genesis: blobSchedule.{name} is out of range")));
    }
    Ok(BlobParams {
        target_blob_count: target,
        max_blob_count: max,
        update_fraction: fraction.into(),
        ..BlobParams::cancun()
    })
}

/// Return the price of blob gas in a block, in wei, or None for a header without excess blob gas. 2^128 - 1
/// stands for every higher price.
pub fn blob_base_fee(spec: &ChainSpec, header: &Header) -> Option<u128> {
    let excess = header.excess_blob_gas?;
    Some(spec.blob_parameters(header.timestamp)?.calc_blob_fee(excess))
}
