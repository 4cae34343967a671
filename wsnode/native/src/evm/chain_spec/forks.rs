//! Forks of Ethereum, one row for each, and the schedule of their activation.

use alloy_consensus::Header;
use alloy_eips::eip7840::BlobParams;
use alloy_eips::{eip2935, eip4788, eip7002, eip7251, eip8282};
use alloy_hardforks::EthereumHardfork;
use alloy_primitives::{Address, Bytes};

use crate::error::{Error, Rule};

/// Fork of the rules, in the order in which chains activate them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fork {
    Frontier,
    Homestead,
    Dao,
    TangerineWhistle,
    /// Transactions may name their chain (EIP-155). Every public chain activates it with Spurious Dragon.
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
    Amsterdam,
}

/// Presence and order of a fork among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Every later fork in the table needs it.
    Required,
    Optional,
    /// Blob parameters only (EIP-7892): the fork may begin before or after any named fork.
    BlobsOnly,
}

/// Blob parameters of a fork whose name is not in the genesis file's `blobSchedule`.
#[derive(Debug, Clone, Copy)]
pub enum DefaultBlobs {
    /// Parameters of the forks before it.
    Unchanged,
    Mainnet(fn() -> BlobParams),
    /// None: the genesis file must have an entry.
    Missing,
}

/// Header member that a fork adds: the rule for its presence, and a function that returns whether a header
/// has it.
pub type HeaderMember = (Rule, fn(&Header) -> bool);

/// Differences of a fork from the one before it, without the EVM's own rules.
#[derive(Debug, Clone, Copy)]
pub struct ForkRow {
    pub fork: Fork,
    /// Key of genesis.json that activates the fork.
    pub key: &'static str,
    pub name: &'static str,
    pub presence: Presence,
    /// Fork of alloy's executor, which gives the EVM's `SpecId`. None if the EVM does not change.
    pub hardfork: Option<EthereumHardfork>,
    pub blobs: DefaultBlobs,
    pub header: &'static [HeaderMember],
    /// Contracts that the protocol calls or reads: name in `eth_config` (EIP-7910), address and code.
    pub contracts: &'static [(&'static str, Address, &'static Bytes)],
    /// Addresses of the contracts whose requests end a block (EIP-7685). A block is invalid if one has no
    /// code.
    pub request_contracts: &'static [Address],
    /// Precompiled contracts by their names in `eth_config`, each with its address as a number.
    pub precompiles: &'static [(&'static str, u16)],
    /// Generation of the Engine API's structures that begins with the fork, or 0 if they do not change.
    pub engine: u8,
}

use Presence::{BlobsOnly, Optional, Required};

/// Return the row of a fork that does not change the EVM.
const fn row(fork: Fork, key: &'static str, name: &'static str, presence: Presence) -> ForkRow {
    ForkRow {
        fork,
        key,
        name,
        presence,
        hardfork: None,
        blobs: DefaultBlobs::Unchanged,
        header: &[],
        contracts: &[],
        request_contracts: &[],
        precompiles: &[],
        engine: 0,
    }
}

/// Return the row of a fork that changes the EVM.
const fn evm(
    fork: Fork,
    key: &'static str,
    name: &'static str,
    presence: Presence,
    hardfork: EthereumHardfork,
) -> ForkRow {
    ForkRow { hardfork: Some(hardfork), ..row(fork, key, name, presence) }
}

/// Return the row of a fork that only sets blob parameters.
const fn blobs(fork: Fork, key: &'static str, name: &'static str) -> ForkRow {
    ForkRow { blobs: DefaultBlobs::Missing, ..row(fork, key, name, BlobsOnly) }
}

/// Rows of all forks but Frontier, in the order in which chains activate them. `HARDFORK.md` says how to add
/// one.
pub const TABLE: [ForkRow; 25] = [
    evm(Fork::Homestead, "homesteadBlock", "Homestead", Required, EthereumHardfork::Homestead),
    row(Fork::Dao, "daoForkBlock", "Homestead", Optional),
    evm(Fork::TangerineWhistle, "eip150Block", "Tangerine Whistle", Required, EthereumHardfork::Tangerine),
    row(Fork::ReplayProtection, "eip155Block", "Tangerine Whistle", Required),
    evm(Fork::SpuriousDragon, "eip158Block", "Spurious Dragon", Required, EthereumHardfork::SpuriousDragon),
    evm(Fork::Byzantium, "byzantiumBlock", "Byzantium", Required, EthereumHardfork::Byzantium),
    evm(
        Fork::Constantinople,
        "constantinopleBlock",
        "Constantinople",
        Required,
        EthereumHardfork::Constantinople,
    ),
    evm(Fork::Petersburg, "petersburgBlock", "Petersburg", Required, EthereumHardfork::Petersburg),
    evm(Fork::Istanbul, "istanbulBlock", "Istanbul", Required, EthereumHardfork::Istanbul),
    row(Fork::MuirGlacier, "muirGlacierBlock", "Muir Glacier", Optional),
    evm(Fork::Berlin, "berlinBlock", "Berlin", Required, EthereumHardfork::Berlin),
    evm(Fork::London, "londonBlock", "London", Required, EthereumHardfork::London),
    row(Fork::ArrowGlacier, "arrowGlacierBlock", "Arrow Glacier", Optional),
    row(Fork::GrayGlacier, "grayGlacierBlock", "Gray Glacier", Optional),
    row(Fork::Paris, "mergeNetsplitBlock", "Paris", Optional),
    ForkRow {
        header: &[(Rule::WithdrawalsPresence, |header| header.withdrawals_root.is_some())],
        engine: 2,
        ..evm(Fork::Shanghai, "shanghaiTime", "Shanghai", Required, EthereumHardfork::Shanghai)
    },
    ForkRow {
        blobs: DefaultBlobs::Mainnet(BlobParams::cancun),
        header: &[
            (Rule::BlobGasUsed, |header| header.blob_gas_used.is_some()),
            (Rule::ExcessBlobGas, |header| header.excess_blob_gas.is_some()),
            (Rule::ParentBeaconBlockRoot, |header| header.parent_beacon_block_root.is_some()),
        ],
        contracts: &[("BEACON_ROOTS_ADDRESS", eip4788::BEACON_ROOTS_ADDRESS, &eip4788::BEACON_ROOTS_CODE)],
        precompiles: &[("KZG_POINT_EVALUATION", 10)],
        engine: 3,
        ..evm(Fork::Cancun, "cancunTime", "Cancun", Required, EthereumHardfork::Cancun)
    },
    ForkRow {
        blobs: DefaultBlobs::Mainnet(BlobParams::prague),
        header: &[(Rule::RequestsHash, |header| header.requests_hash.is_some())],
        contracts: &[
            (
                "CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS",
                eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS,
                &eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_CODE,
            ),
            ("HISTORY_STORAGE_ADDRESS", eip2935::HISTORY_STORAGE_ADDRESS, &eip2935::HISTORY_STORAGE_CODE),
            (
                "WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS",
                eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS,
                &eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_CODE,
            ),
        ],
        request_contracts: &[
            eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS,
            eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS,
        ],
        precompiles: &[
            ("BLS12_G1ADD", 11),
            ("BLS12_G1MSM", 12),
            ("BLS12_G2ADD", 13),
            ("BLS12_G2MSM", 14),
            ("BLS12_PAIRING_CHECK", 15),
            ("BLS12_MAP_FP_TO_G1", 16),
            ("BLS12_MAP_FP2_TO_G2", 17),
        ],
        engine: 4,
        ..evm(Fork::Prague, "pragueTime", "Prague", Required, EthereumHardfork::Prague)
    },
    ForkRow {
        blobs: DefaultBlobs::Mainnet(BlobParams::osaka),
        precompiles: &[("P256VERIFY", 256)],
        engine: 5,
        ..evm(Fork::Osaka, "osakaTime", "Osaka", Optional, EthereumHardfork::Osaka)
    },
    blobs(Fork::Bpo1, "bpo1Time", "BPO1"),
    blobs(Fork::Bpo2, "bpo2Time", "BPO2"),
    blobs(Fork::Bpo3, "bpo3Time", "BPO3"),
    blobs(Fork::Bpo4, "bpo4Time", "BPO4"),
    blobs(Fork::Bpo5, "bpo5Time", "BPO5"),
    ForkRow {
        header: &[
            (Rule::BlockAccessListHash, |header| header.block_access_list_hash.is_some()),
            (Rule::SlotNumber, |header| header.slot_number.is_some()),
        ],
        contracts: &[
            (
                "BUILDER_DEPOSIT_CONTRACT_ADDRESS",
                eip8282::BUILDER_DEPOSIT_CONTRACT_ADDRESS,
                &eip8282::BUILDER_DEPOSIT_CONTRACT_CODE,
            ),
            (
                "BUILDER_EXIT_CONTRACT_ADDRESS",
                eip8282::BUILDER_EXIT_CONTRACT_ADDRESS,
                &eip8282::BUILDER_EXIT_CONTRACT_CODE,
            ),
        ],
        request_contracts: &[
            eip8282::BUILDER_DEPOSIT_CONTRACT_ADDRESS,
            eip8282::BUILDER_EXIT_CONTRACT_ADDRESS,
        ],
        engine: 6,
        ..evm(Fork::Amsterdam, "amsterdamTime", "Amsterdam", Optional, EthereumHardfork::Amsterdam)
    },
];

const HEADER_MEMBERS_BEFORE_LONDON: usize = 15;

/// Number of members in a header of the newest fork: 15 before London, the base fee, and the members of later
/// forks.
pub const HEADER_MEMBERS: usize = {
    let (mut members, mut index) = (HEADER_MEMBERS_BEFORE_LONDON + 1, 0);
    while index < TABLE.len() {
        members += TABLE[index].header.len();
        index += 1;
    }
    members
};

/// Activation of each fork: a block number up to Paris, a timestamp from Shanghai on.
#[derive(Debug, Clone, Default)]
pub struct Schedule([Option<u64>; TABLE.len() + 1]);

impl Fork {
    /// Return the fork that a key of genesis.json activates, or None.
    pub fn of_key(key: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.key == key).map(|row| row.fork)
    }
}

impl ForkRow {
    /// Return true if a time activates the fork, false if a block number does.
    pub fn is_by_time(&self) -> bool {
        self.fork >= Fork::Shanghai
    }

    /// Return the number of members in a header whose newest fork this is.
    pub fn header_members(&self) -> usize {
        let before_london = HEADER_MEMBERS_BEFORE_LONDON;
        let base = before_london + usize::from(self.fork >= Fork::London);
        base + TABLE.iter().take_while(|row| row.fork <= self.fork).map(|row| row.header.len()).sum::<usize>()
    }

    /// Return the fork's name among the entries of `blobSchedule`.
    pub fn blob_entry(&self) -> &'static str {
        self.key.trim_end_matches("Time")
    }
}

/// Return the error for a member of genesis.json of a fork that is not in the table.
pub fn unknown_fork(member: &str, begin: &str) -> Error {
    Error::InvalidGenesis(format!(
        "genesis: {member} names a fork that this version does not know: the rules would be others{begin}. Use a \
         newer version of wsnode, or delete it if the chain has no block of that fork"
    ))
}

impl Schedule {
    pub fn set(&mut self, fork: Fork, activation: Option<u64>) {
        self.0[fork as usize] = activation;
    }

    pub fn activation(&self, fork: Fork) -> Option<u64> {
        self.0[fork as usize]
    }

    pub fn active_at_block(&self, fork: Fork, number: u64) -> bool {
        fork == Fork::Frontier || self.activation(fork).is_some_and(|begin| number >= begin)
    }

    pub fn active_at_time(&self, fork: Fork, timestamp: u64) -> bool {
        self.activation(fork).is_some_and(|begin| timestamp >= begin)
    }

    /// Return the rows of the forks that are active at a block, the newest last.
    ///
    /// A fork that only sets blob parameters is placed among the others by its time.
    pub fn active(&self, number: u64, timestamp: u64) -> Vec<&'static ForkRow> {
        let begin = |row: &ForkRow| self.activation(row.fork).unwrap_or(u64::MAX);
        let is_active = |row: &&ForkRow| {
            let position = if row.is_by_time() { timestamp } else { number };
            self.activation(row.fork).is_some_and(|begin| position >= begin)
        };
        let mut rows: Vec<_> = TABLE.iter().filter(is_active).collect();
        rows.sort_by_key(|row| if row.is_by_time() { (true, begin(row)) } else { (false, 0) });
        rows
    }

    /// Return the name of the newest active fork.
    pub fn name(&self, number: u64, timestamp: u64) -> &'static str {
        self.active(number, timestamp).last().map_or("Frontier", |row| row.name)
    }

    /// Return the first error in the order of the forks, or None. Forks with blob parameters only have their
    /// own order.
    pub fn disorder(&self) -> Option<String> {
        let named = TABLE.iter().filter(|row| row.presence != BlobsOnly);
        let blobs = TABLE.iter().filter(|row| row.fork == Fork::Osaka || row.presence == BlobsOnly);
        self.disorder_of(named).or_else(|| self.disorder_of(blobs))
    }

    fn disorder_of(&self, rows: impl Iterator<Item = &'static ForkRow>) -> Option<String> {
        let mut before: Option<&ForkRow> = None;
        for row in rows {
            let activation = self.activation(row.fork);
            if let Some(last) = before {
                if let Some(fault) = self.fault(last, row) {
                    return Some(fault);
                }
            }
            if activation.is_some() || row.presence == Required {
                before = Some(row);
            }
        }
        None
    }

    fn fault(&self, last: &ForkRow, next: &ForkRow) -> Option<String> {
        let begin = self.activation(next.fork)?;
        let Some(earlier) = self.activation(last.fork) else {
            return Some(format!("unsupported fork ordering: {} is set, but {} is not", next.key, last.key));
        };
        if last.is_by_time() == next.is_by_time() && earlier > begin {
            return Some(format!(
                "unsupported fork ordering: {} is {earlier}, but {} is {begin}",
                last.key, next.key
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
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(Fork::of_key(row.key), Some(row.fork));
            assert_eq!(row.fork as usize, index + 1);
        }
    }

    #[test]
    fn blob_parameters_may_change_before_and_after_a_named_fork() {
        for (bpo, newest) in [(5, "Amsterdam"), (15, "BPO3")] {
            let mut schedule = Schedule::default();
            for row in TABLE.iter().filter(|row| row.presence != BlobsOnly) {
                schedule.set(row.fork, Some(0));
            }
            schedule.set(Fork::Amsterdam, Some(10));
            schedule.set(Fork::Bpo3, Some(bpo));
            assert_eq!(schedule.disorder(), None);
            assert_eq!(schedule.name(1, 20), newest);
        }
    }
}
