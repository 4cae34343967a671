//! Entries of the log index: the logs of each address and each topic.
//!
//! A key is a kind, a value and a chunk. The kind is 0 for the log's address, 1 to 4 for the topic at that
//! position counted from one, and 5 for the number of the log's topics (one byte: a filter's trailing
//! wildcard asks for it). A chunk is 65,536 consecutive log numbers.

use std::collections::hash_map::Entry;

use alloy_primitives::map::{DefaultHashBuilder, HashMap};

use super::{LogRow, ReceiptsRow, RowError};

pub(super) const ADDRESS: u8 = 0;
pub(super) const TOPIC_COUNT: u8 = 5;
const CHUNK_BITS: u32 = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct EntryKey {
    kind: u8,
    /// Value of the kind, padded with zeros to 32 bytes, which does not change the order of keys of one kind.
    value: [u8; 32],
    chunk: u32,
}

impl EntryKey {
    fn encode(&self) -> Vec<u8> {
        let length = match self.kind {
            ADDRESS => 20,
            TOPIC_COUNT => 1,
            _ => 32,
        };
        [&[self.kind][..], &self.value[..length], &self.chunk.to_be_bytes()].concat()
    }
}

/// Key, and the numbers of its logs within the chunk as little-endian 32-bit integers, ascending.
pub type LogEntry = (Vec<u8>, Vec<u8>);

/// Return the index entries of the logs of consecutive receipts rows, numbered from `first` on; sorted by
/// key.
pub fn log_entries(rows: &[ReceiptsRow<'_>], first: u64) -> Result<Vec<LogEntry>, RowError> {
    let mut positions: HashMap<EntryKey, Vec<u8>, DefaultHashBuilder> = HashMap::default();
    let mut number = first;
    for row in rows {
        for log in row.log_rows() {
            add_log(&mut positions, &log?, number)?;
            number += 1;
        }
    }
    let mut entries: Vec<_> = positions.into_iter().collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    Ok(entries.into_iter().map(|(key, numbers)| (key.encode(), numbers)).collect())
}

fn add_log(
    positions: &mut HashMap<EntryKey, Vec<u8>, DefaultHashBuilder>,
    log: &LogRow<'_>,
    number: u64,
) -> Result<(), RowError> {
    let chunk = u32::try_from(number >> CHUNK_BITS).map_err(|_| RowError::Corrupt("log number"))?;
    let position = (number as u32 & 0xffff).to_le_bytes();
    let mut add = |kind, value| match positions.entry(EntryKey { kind, value, chunk }) {
        Entry::Occupied(mut entry) => entry.get_mut().extend_from_slice(&position),
        Entry::Vacant(entry) => drop(entry.insert(position.to_vec())),
    };
    let mut address = [0; 32];
    address[..20].copy_from_slice(log.address.as_slice());
    add(ADDRESS, address);
    for (topic, kind) in log.topics.as_chunks().0.iter().zip(1..) {
        add(kind, *topic);
    }
    let mut count = [0; 32];
    count[0] = (log.topics.len() / 32) as u8;
    add(TOPIC_COUNT, count);
    Ok(())
}
