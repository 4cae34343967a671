//! The rules of one chain: which forks it activates and when, its blob parameters, its genesis block.

mod blobs;
mod chain_ids;
mod config;
mod family;
mod forks;
mod genesis;
mod number;
mod op_stack;
mod rules;

use alloy_consensus::Header;
use alloy_eips::eip7840::BlobParams;
use alloy_primitives::{Address, B256, U256};
use revm::primitives::hardfork::SpecId;

pub use blobs::blob_base_fee;
pub use family::{
    BaseFee, BlobGas, ExtraData, Family, GasLimit, HeaderRules, Members, Seal, TimestampRule, WithdrawalsRoot,
};
pub use forks::{Fork, ForkRow, Presence, Schedule, HEADER_MEMBERS, TABLE as FORKS};
pub use genesis::{Alloc, Genesis, MAXIMUM_DIFFICULTY_BITS};
pub use op_stack::OpFork;
pub use rules::Rules;

use crate::error::Error;
use blobs::BlobSchedule;
use chain_ids::ChainIds;
use op_stack::OpForks;
use rules::maximum_initcode;

/// What genesis.json says about a chain.
#[derive(Debug)]
pub struct ChainSpec {
    chain_ids: ChainIds,
    forks: Schedule,
    blobs: BlobSchedule,
    terminal_total_difficulty: Option<U256>,
    deposit_contract: Option<Address>,
    dao_support: bool,
    code_size_limit: Option<usize>,
    family: Family,
    has_arbos: bool,
    header_rules: HeaderRules,
    op_forks: OpForks,
    genesis: Genesis,
}

impl ChainSpec {
    /// The chain that geth's genesis.json describes.
    pub fn from_json(text: &[u8]) -> Result<Self, Error> {
        let document = genesis::Document::parse(text)?;
        let config = config::Config::parse(document.config)?;
        let genesis = document.genesis(&config)?;
        let description = config.description.unwrap_or_default();
        Ok(Self {
            chain_ids: ChainIds::new(config.chain_id),
            forks: config.forks,
            blobs: config.blobs,
            terminal_total_difficulty: config.terminal_total_difficulty,
            deposit_contract: config.deposit_contract,
            dao_support: config.dao_support,
            code_size_limit: config.code_size_limit,
            family: description.family,
            has_arbos: description.arbos || description.family == Family::Arbitrum,
            header_rules: description.header_rules(),
            op_forks: config.op_forks,
            genesis,
        })
    }

    /// The id of the blocks to come.
    pub fn chain_id(&self) -> u64 {
        self.chain_ids.current()
    }

    /// The id of a block.
    pub fn chain_id_at(&self, number: u64) -> u64 {
        self.chain_ids.at(number)
    }

    /// Which ids follow the genesis's, each with its first block, ascending.
    pub fn set_chain_ids(&self, changes: Vec<(u64, u64)>) {
        self.chain_ids.set_changes(changes);
    }

    /// Whose encodings its transactions and receipts have.
    pub fn family(&self) -> Family {
        self.family
    }

    /// Whose encodings a block has: the first one of a chain may be of another chain.
    pub fn family_at(&self, number: u64) -> Family {
        match &self.genesis.elsewhere {
            Some(elsewhere) if number <= self.genesis.header.number => elsewhere.family,
            _ => self.family,
        }
    }

    /// Whether ArbOS runs some accounts of its state, which the EVM cannot.
    pub fn has_arbos(&self) -> bool {
        self.has_arbos
    }

    pub fn header_rules(&self) -> &HeaderRules {
        &self.header_rules
    }

    /// The newest fork of the OP stack that is active and changes what Ethereum's forks do not.
    pub fn op_fork(&self, timestamp: u64) -> Option<OpFork> {
        self.op_forks.newest(timestamp)
    }

    /// Whether its blocks are sealed by authorities, whatever their difficulty.
    pub fn is_sealed_by_authority(&self) -> bool {
        self.header_rules.seal != Seal::Ethereum
    }

    pub fn genesis(&self) -> &Genesis {
        &self.genesis
    }

    pub fn genesis_hash(&self) -> B256 {
        self.genesis.hash
    }

    /// The name of the newest fork active at a block.
    pub fn fork_name(&self, number: u64, timestamp: u64) -> &'static str {
        let name = self.forks.name(number, timestamp);
        let merged_at_genesis = self.terminal_total_difficulty == Some(U256::ZERO);
        if merged_at_genesis
            && !self.forks.active_at_time(Fork::Shanghai, timestamp)
            && self.is_london(number)
        {
            return "Paris";
        }
        name
    }

    /// The rows of the forks that are active at a block, the newest last.
    pub fn active_forks(&self, number: u64, timestamp: u64) -> Vec<&'static ForkRow> {
        self.forks.active(number, timestamp)
    }

    /// When the chain activates a fork, if it does: a block number, or from Shanghai on a time in seconds.
    pub fn activation(&self, fork: Fork) -> Option<u64> {
        self.forks.activation(fork)
    }

    /// The total difficulty at which proof of stake begins, if it ever does.
    pub fn terminal_total_difficulty(&self) -> Option<U256> {
        self.terminal_total_difficulty
    }

    /// Whether a block has the rules since proof of stake, whose parent has this total difficulty.
    pub fn is_proof_of_stake(&self, parent_total_difficulty: U256) -> bool {
        let is_merged =
            self.terminal_total_difficulty.is_some_and(|terminal| parent_total_difficulty >= terminal);
        is_merged || self.is_sealed_by_authority()
    }

    /// Whether the block after `parent` is one of proof of stake, as far as the parent alone shows.
    pub fn is_proof_of_stake_after(&self, parent: &Header) -> bool {
        if self.is_sealed_by_authority() {
            return true;
        }
        match self.terminal_total_difficulty {
            Some(terminal) => {
                let is_merged = parent.difficulty.is_zero() && parent.number > 0;
                is_merged || (parent.number == 0 && parent.difficulty >= terminal)
            }
            None => false,
        }
    }

    /// The blob parameters in force at `timestamp`, or nothing before blobs.
    pub fn blob_parameters(&self, timestamp: u64) -> Option<BlobParams> {
        self.blobs.at(timestamp)
    }

    /// Bytes of a contract's code, if that is not the protocol's limit (EIP-170).
    pub fn code_size_limit(&self) -> Option<usize> {
        self.code_size_limit
    }

    /// Bytes of the code that creates a contract: twice those of a contract's (EIP-3860).
    pub fn initcode_limit(&self, rules: SpecId) -> usize {
        self.code_size_limit.map_or_else(|| maximum_initcode(rules), |limit| limit.saturating_mul(2))
    }

    pub fn is_active(&self, fork: Fork, number: u64) -> bool {
        self.forks.active_at_block(fork, number)
    }

    /// Whether a fork that begins at a time is active; all of them need London.
    pub fn is_active_at(&self, fork: Fork, number: u64, timestamp: u64) -> bool {
        self.is_london(number) && self.forks.active_at_time(fork, timestamp)
    }

    pub fn is_london(&self, number: u64) -> bool {
        self.forks.active_at_block(Fork::London, number)
    }

    /// The block of the DAO fork, and whether the chain supports it.
    pub fn dao_fork(&self) -> Option<(u64, bool)> {
        self.forks.activation(Fork::Dao).map(|number| (number, self.dao_support))
    }
}
