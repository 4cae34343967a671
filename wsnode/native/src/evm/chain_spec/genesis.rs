//! Genesis block: its header and its accounts.

use std::collections::BTreeMap;

use alloy_consensus::constants::{EMPTY_OMMER_ROOT_HASH, EMPTY_ROOT_HASH, EMPTY_WITHDRAWALS};
use alloy_consensus::Header;
use alloy_eips::eip1559::INITIAL_BASE_FEE;
use alloy_eips::eip7685::EMPTY_REQUESTS_HASH;
use alloy_eips::eip7928::constants::EMPTY_BLOCK_ACCESS_LIST_HASH;
use alloy_genesis::GenesisAccount;
use alloy_primitives::{Address, Bloom, Bytes, B256, B64, U256};
use alloy_rlp::Decodable;
use alloy_trie::root::state_root_ref_unhashed;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::config::{refusal, Config};
use super::family::Family;
use super::forks::Fork;
use super::number::{parse, parse_u256, parse_u64};
use crate::error::Error;
use crate::state::Head;

/// Highest difficulty in bits. It keeps every total difficulty far below 256 bits.
pub const MAXIMUM_DIFFICULTY_BITS: usize = 80;

pub type Alloc = BTreeMap<Address, GenesisAccount>;

/// First block of a chain.
#[derive(Debug, Clone)]
pub struct Genesis {
    pub header: Header,
    pub hash: B256,
    pub alloc: Alloc,
    /// True if the header is known. Otherwise at most the hash is known; an unknown hash is zero.
    pub has_header: bool,
    /// True if the genesis accounts are known; otherwise only their state root is.
    pub is_allotted: bool,
    /// Block of another chain with which this one begins. Its accounts are unknown.
    pub elsewhere: Option<Elsewhere>,
}

/// First block of this chain if it is a copy of another chain's block.
#[derive(Debug, Clone)]
pub struct Elsewhere {
    /// Family whose encodings its transactions have.
    pub family: Family,
    /// RLP of the block.
    pub block: Bytes,
    /// Row of its receipts.
    pub receipts: Bytes,
}

impl Genesis {
    /// Return the head of a state at the genesis block.
    pub fn head(&self) -> Head {
        Head { number: self.header.number, hash: self.hash, state_root: self.header.state_root }
    }
}

/// Member with the RLP of another chain's block. `firstReceipts` is the row of its receipts.
const ELSEWHERE: &str = "firstBlock";
const RECEIPTS: &str = "firstReceipts";
const FAMILY: &str = "firstFamily";

const DEFAULT_GAS_LIMIT: u64 = 4_712_388;
const DEFAULT_DIFFICULTY: u64 = 131_072;

/// Members of genesis.json as text.
pub struct Document<'a> {
    pub config: &'a RawValue,
    alloc: Option<&'a RawValue>,
    members: BTreeMap<String, &'a RawValue>,
}

impl<'a> Document<'a> {
    pub fn parse(text: &'a [u8]) -> Result<Self, Error> {
        let mut members: BTreeMap<String, &RawValue> = serde_json::from_slice(text)
            .map_err(|reason| Error::InvalidGenesis(format!("genesis: not a JSON object: {reason}")))?;
        members.retain(|_, value| value.get() != "null");
        let config = members.remove("config").ok_or_else(|| refusal("config is missing"))?;
        let alloc = members.remove("alloc");
        Ok(Self { config, alloc, members })
    }

    /// Return the genesis block under the rules of `config`.
    pub fn genesis(&self, config: &Config) -> Result<Genesis, Error> {
        if let Some(encoded) = self.value::<Bytes>(ELSEWHERE)? {
            let header =
                first_header(&encoded).map_err(|reason| refusal(&format!("{ELSEWHERE}: {reason}")))?;
            let receipts =
                self.value::<Bytes>(RECEIPTS)?.ok_or_else(|| refusal("firstReceipts is missing"))?;
            let alloc = Alloc::new();
            let family = self.value(FAMILY)?.unwrap_or_default();
            let elsewhere = Some(Elsewhere { family, block: encoded, receipts });
            let hash = header.hash_slow();
            return Ok(Genesis { header, hash, has_header: true, alloc, is_allotted: true, elsewhere });
        }
        if self.alloc.is_none() && !self.members.contains_key("stateRoot") {
            return self.unknown(config);
        }
        let (alloc, state_root) = match self.alloc {
            Some(text) => {
                let alloc: Alloc = parse("alloc", text)?;
                let state_root = state_root_ref_unhashed(&alloc);
                (alloc, state_root)
            }
            None => (Alloc::new(), self.value("stateRoot")?.unwrap_or_default()),
        };
        let header = self.header(config, state_root)?;
        let hash = header.hash_slow();
        let is_allotted = self.alloc.is_some();
        Ok(Genesis { header, hash, has_header: true, alloc, is_allotted, elsewhere: None })
    }

    /// Return a genesis block of which at most the hash is known. Its header is only a placeholder.
    fn unknown(&self, config: &Config) -> Result<Genesis, Error> {
        let Some(description) = config.description else { return Err(refusal("alloc is missing")) };
        Ok(Genesis {
            header: self.header(config, B256::ZERO)?,
            hash: description.genesis_hash.unwrap_or_default(),
            has_header: false,
            alloc: Alloc::new(),
            is_allotted: false,
            elsewhere: None,
        })
    }

    fn header(&self, config: &Config, state_root: B256) -> Result<Header, Error> {
        if self.number("number")?.unwrap_or(0) != 0 {
            return Err(refusal("number is not 0"));
        }
        let gas_limit = self.number("gasLimit")?.filter(|limit| *limit != 0);
        let mut header = Header {
            parent_hash: self.value("parentHash")?.unwrap_or_default(),
            ommers_hash: EMPTY_OMMER_ROOT_HASH,
            beneficiary: self.value::<Address>("coinbase")?.unwrap_or_default(),
            state_root,
            transactions_root: EMPTY_ROOT_HASH,
            receipts_root: EMPTY_ROOT_HASH,
            logs_bloom: Bloom::ZERO,
            difficulty: self.difficulty(config)?,
            gas_limit: gas_limit.unwrap_or(DEFAULT_GAS_LIMIT),
            gas_used: self.number("gasUsed")?.unwrap_or(0),
            timestamp: self.number("timestamp")?.unwrap_or(0),
            extra_data: self.value::<Bytes>("extraData")?.unwrap_or_default(),
            mix_hash: self.value("mixHash")?.unwrap_or_default(),
            nonce: B64::from(self.number("nonce")?.unwrap_or(0)),
            ..Header::default()
        };
        self.add_fork_members(&mut header, config)?;
        Ok(header)
    }

    fn add_fork_members(&self, header: &mut Header, config: &Config) -> Result<(), Error> {
        if !config.forks.active_at_block(Fork::London, 0) {
            return Ok(());
        }
        header.base_fee_per_gas = Some(self.number("baseFeePerGas")?.unwrap_or(INITIAL_BASE_FEE));
        let active = |fork| config.forks.active_at_time(fork, header.timestamp);
        if active(Fork::Shanghai) {
            header.withdrawals_root = Some(EMPTY_WITHDRAWALS);
        }
        if active(Fork::Cancun) {
            header.parent_beacon_block_root = Some(B256::ZERO);
            let used = self.number("blobGasUsed")?.unwrap_or(0);
            let excess = self.number("excessBlobGas")?.unwrap_or(0);
            excess.checked_add(used).ok_or_else(|| refusal("excessBlobGas is out of range"))?;
            (header.blob_gas_used, header.excess_blob_gas) = (Some(used), Some(excess));
        }
        if active(Fork::Prague) {
            header.requests_hash = Some(EMPTY_REQUESTS_HASH);
        }
        if active(Fork::Amsterdam) {
            // A genesis file cannot give an access list, so the header has the hash of an empty one (geth
            // core/genesis.go).
            header.block_access_list_hash = Some(EMPTY_BLOCK_ACCESS_LIST_HASH);
            header.slot_number = Some(self.number("slotNumber")?.unwrap_or(0));
        }
        Ok(())
    }

    fn difficulty(&self, config: &Config) -> Result<U256, Error> {
        if let Some(raw) = self.members.get("difficulty") {
            let difficulty = parse_u256("difficulty", raw)?;
            return match difficulty.bit_len() {
                0..=MAXIMUM_DIFFICULTY_BITS => Ok(difficulty),
                _ => Err(refusal(&format!("difficulty has more than {MAXIMUM_DIFFICULTY_BITS} bits"))),
            };
        }
        Ok(U256::from(if config.is_mined { DEFAULT_DIFFICULTY } else { 0 }))
    }

    fn number(&self, name: &str) -> Result<Option<u64>, Error> {
        self.members.get(name).map(|raw| parse_u64(name, raw)).transpose()
    }

    fn value<T: Deserialize<'a>>(&self, name: &str) -> Result<Option<T>, Error> {
        self.members.get(name).map(|raw| parse(name, raw)).transpose()
    }
}

/// Return the header of a block in RLP.
fn first_header(block: &[u8]) -> Result<Header, alloy_rlp::Error> {
    let mut items = alloy_rlp::Header::decode_bytes(&mut &block[..], true)?;
    Header::decode(&mut items)
}
