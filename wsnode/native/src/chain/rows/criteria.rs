//! Criteria by which a filter selects logs, and their keys in the log index.

use std::hash::Hash;
use std::sync::OnceLock;

use alloy_primitives::map::{DefaultHashBuilder, HashSet};
use alloy_primitives::{Address, B256};

use super::log_entries::{ADDRESS, TOPIC_COUNT};
use super::LogRow;

const MAX_TOPICS: usize = 4;
/// Maximum number of values compared one by one, up to which this is as fast as hashing.
const FEW: usize = 8;

/// Criteria of a filter: one of the addresses, and at each position one of the topics; an empty list admits
/// any.
///
/// A log with fewer topics than `topics` has positions does not match.
#[derive(Debug, Default)]
pub struct Criteria {
    addresses: Vec<Address>,
    topics: Vec<Vec<B256>>,
    sets: OnceLock<Sets>,
}

/// Values of each kind, prepared for lookups.
#[derive(Debug)]
struct Sets {
    addresses: Wanted<Address>,
    topics: Vec<Wanted<B256>>,
}

#[derive(Debug)]
enum Wanted<T> {
    Any,
    Few(Vec<T>),
    /// Set of more than eight values; its hashes are seeded because clients choose the values.
    Many(HashSet<T, DefaultHashBuilder>),
}

impl<T: Copy + Eq + Hash> Wanted<T> {
    fn new(values: &[T]) -> Self {
        match values.len() {
            0 => Self::Any,
            1..=FEW => Self::Few(values.to_vec()),
            _ => Self::Many(values.iter().copied().collect()),
        }
    }

    fn has(&self, value: &T) -> bool {
        match self {
            Self::Any => true,
            Self::Few(values) => values.contains(value),
            Self::Many(values) => values.contains(value),
        }
    }
}

impl Criteria {
    pub fn new(addresses: Vec<Address>, topics: Vec<Vec<B256>>) -> Self {
        Self { addresses, topics, sets: OnceLock::new() }
    }

    /// Return the number of addresses and topics named.
    pub fn count(&self) -> usize {
        self.addresses.len() + self.topics.iter().map(Vec::len).sum::<usize>()
    }

    pub fn matches(&self, log: &LogRow<'_>) -> bool {
        let sets = self.sets.get_or_init(|| Sets {
            addresses: Wanted::new(&self.addresses),
            topics: self.topics.iter().map(|topics| Wanted::new(topics)).collect(),
        });
        let topics = log.topics.as_chunks::<32>().0;
        topics.len() >= sets.topics.len()
            && sets.addresses.has(log.address)
            && sets.topics.iter().zip(topics).all(|(wanted, topic)| wanted.has(topic.into()))
    }

    /// Return groups of log-index keys, each without its chunk suffix. A matching log has one key of each
    /// group.
    ///
    /// Without criteria there are no groups.
    pub fn groups(&self) -> Vec<Vec<Vec<u8>>> {
        let mut groups = Vec::new();
        if !self.addresses.is_empty() {
            groups.push(keys(ADDRESS, &self.addresses));
        }
        for (kind, topics) in (1..).zip(&self.topics).filter(|(_, topics)| !topics.is_empty()) {
            groups.push(keys(kind, topics));
        }
        if self.topics.last().is_some_and(Vec::is_empty) {
            // A trailing wildcard still requires a topic in its position.
            let counts: Vec<_> = (self.topics.len()..=MAX_TOPICS).map(|count| [count as u8]).collect();
            groups.push(keys(TOPIC_COUNT, &counts));
        }
        groups
    }
}

fn keys<T: AsRef<[u8]>>(kind: u8, values: &[T]) -> Vec<Vec<u8>> {
    values.iter().map(|value| [&[kind], value.as_ref()].concat()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_match(criteria: &Criteria, address: Address, topics: &[B256]) -> bool {
        let topics: Vec<u8> = topics.iter().flatten().copied().collect();
        criteria.matches(&LogRow { transaction_index: 0, address: &address, topics: &topics, data: b"" })
    }

    #[test]
    fn few_and_many_values_are_compared_alike() {
        let address = Address::with_last_byte;
        let topic = B256::with_last_byte;
        for most in [1, FEW as u8, FEW as u8 + 1, 200] {
            let addresses = (1..=most).map(address).collect();
            let criteria = Criteria::new(addresses, vec![vec![], (1..=most).map(topic).collect()]);
            for value in 0..=most + 1 {
                let is_one = (1..=most).contains(&value);
                assert_eq!(is_match(&criteria, address(value), &[topic(0), topic(1)]), is_one);
                assert_eq!(is_match(&criteria, address(1), &[topic(0), topic(value)]), is_one);
            }
            assert!(!is_match(&criteria, address(1), &[topic(1)]));
        }
    }

    #[test]
    fn a_position_without_topics_still_asks_for_one() {
        let criteria = Criteria::new(vec![], vec![vec![], vec![]]);
        let topic = B256::ZERO;
        for (count, is_one) in [(0, false), (1, false), (2, true), (4, true)] {
            assert_eq!(is_match(&criteria, Address::ZERO, &vec![topic; count]), is_one);
        }
        assert_eq!(criteria.groups(), [[vec![TOPIC_COUNT, 2], vec![TOPIC_COUNT, 3], vec![TOPIC_COUNT, 4]]]);
        assert!(is_match(&Criteria::default(), Address::ZERO, &[]));
        assert!(Criteria::default().groups().is_empty());
    }
}
