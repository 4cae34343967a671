//! The forks of Ethereum: their order, their keys in genesis.json, and when a chain activates each.

/// A change of the rules, in the order in which chains activate them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fork {
    Frontier,
    Homestead,
    Dao,
    TangerineWhistle,
    /// Transactions may name their chain; with Spurious Dragon on every public chain.
    ReplayProtection,
    SpuriousDragon,
    Byzantium,
    Constantinople,
    Petersburg,
    Istanbul,
    MuirGlacier,
    Berlin,
    London,
    ArrowGlacier,
    GrayGlacier,
    Paris,
    Shanghai,
    Cancun,
    Prague,
    Osaka,
    Bpo1,
    Bpo2,
    Bpo3,
    Bpo4,
    Bpo5,
}

/// Whether a later fork may be active while this one is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Required,
    Optional,
}

/// One row of the table below: fork, key of genesis.json, name, presence.
type Row = (Fork, &'static str, &'static str, Presence);

use Presence::{Optional, Required};

const TABLE: [Row; 24] = [
    (Fork::Homestead, "homesteadBlock", "Homestead", Required),
    (Fork::Dao, "daoForkBlock", "Homestead", Optional),
    (Fork::TangerineWhistle, "eip150Block", "Tangerine Whistle", Required),
    (Fork::ReplayProtection, "eip155Block", "Tangerine Whistle", Required),
    (Fork::SpuriousDragon, "eip158Block", "Spurious Dragon", Required),
    (Fork::Byzantium, "byzantiumBlock", "Byzantium", Required),
    (Fork::Constantinople, "constantinopleBlock", "Constantinople", Required),
    (Fork::Petersburg, "petersburgBlock", "Petersburg", Required),
    (Fork::Istanbul, "istanbulBlock", "Istanbul", Required),
    (Fork::MuirGlacier, "muirGlacierBlock", "Muir Glacier", Optional),
    (Fork::Berlin, "berlinBlock", "Berlin", Required),
    (Fork::London, "londonBlock", "London", Required),
    (Fork::ArrowGlacier, "arrowGlacierBlock", "Arrow Glacier", Optional),
    (Fork::GrayGlacier, "grayGlacierBlock", "Gray Glacier", Optional),
    (Fork::Paris, "mergeNetsplitBlock", "Paris", Optional),
    (Fork::Shanghai, "shanghaiTime", "Shanghai", Required),
    (Fork::Cancun, "cancunTime", "Cancun", Required),
    (Fork::Prague, "pragueTime", "Prague", Required),
    (Fork::Osaka, "osakaTime", "Osaka", Optional),
    (Fork::Bpo1, "bpo1Time", "BPO1", Optional),
    (Fork::Bpo2, "bpo2Time", "BPO2", Optional),
    (Fork::Bpo3, "bpo3Time", "BPO3", Optional),
    (Fork::Bpo4, "bpo4Time", "BPO4", Optional),
    (Fork::Bpo5, "bpo5Time", "BPO5", Optional),
];

/// When each fork begins: a block number up to Paris, a timestamp from Shanghai on.
#[derive(Debug, Clone, Default)]
pub struct Schedule([Option<u64>; TABLE.len() + 1]);

impl Fork {
    /// The key of genesis.json that activates the fork.
    pub fn key(self) -> &'static str {
        TABLE.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    /// The fork that a key of genesis.json activates.
    pub fn of_key(key: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.1 == key).map(|row| row.0)
    }

    fn by_time(self) -> bool {
        self >= Self::Shanghai
    }
}

impl Schedule {
    pub fn set(&mut self, fork: Fork, activation: Option<u64>) {
        self.0[fork as usize] = activation;
    }

    pub fn activation(&self, fork: Fork) -> Option<u64> {
        self.0[fork as usize]
    }

    /// Whether a fork that begins with a block is active at `number`.
    pub fn active_at_block(&self, fork: Fork, number: u64) -> bool {
        fork == Fork::Frontier || self.activation(fork).is_some_and(|begin| number >= begin)
    }

    /// Whether a fork that begins at a time is active at `timestamp`.
    pub fn active_at_time(&self, fork: Fork, timestamp: u64) -> bool {
        self.activation(fork).is_some_and(|begin| timestamp >= begin)
    }

    /// The name of the newest fork that is active.
    pub fn name(&self, number: u64, timestamp: u64) -> &'static str {
        let active = |row: &&Row| {
            let position = if row.0.by_time() { timestamp } else { number };
            self.activation(row.0).is_some_and(|begin| position >= begin)
        };
        TABLE.iter().rev().find(active).map_or("Frontier", |row| row.2)
    }

    /// The error in the order of the forks, if any.
    pub fn disorder(&self) -> Option<String> {
        let mut before: Option<&Row> = None;
        for row in &TABLE {
            let activation = self.activation(row.0);
            if let Some(last) = before {
                if let Some(fault) = self.fault(last, row) {
                    return Some(fault);
                }
            }
            if activation.is_some() || row.3 == Required {
                before = Some(row);
            }
        }
        None
    }

    fn fault(&self, last: &Row, next: &Row) -> Option<String> {
        let begin = self.activation(next.0)?;
        let Some(earlier) = self.activation(last.0) else {
            return Some(format!("unsupported fork ordering: {} is set, but {} is not", next.1, last.1));
        };
        if last.0.by_time() == next.0.by_time() && earlier > begin {
            return Some(format!(
                "unsupported fork ordering: {} is {earlier}, but {} is {begin}",
                last.1, next.1
            ));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_before_its_predecessor_is_named() {
        let mut schedule = Schedule::default();
        schedule.set(Fork::Homestead, Some(5));
        schedule.set(Fork::TangerineWhistle, Some(3));
        let fault = schedule.disorder().unwrap();
        assert!(fault.contains("homesteadBlock is 5, but eip150Block is 3"), "{fault}");
    }

    #[test]
    fn every_key_leads_back_to_its_fork() {
        for row in TABLE {
            assert_eq!(Fork::of_key(row.0.key()), Some(row.0));
        }
    }
}
