//! Rules of one chain: its forks and their activation, its blob parameters and its genesis block.

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
pub use genesis::{Genesis, MAXIMUM_DIFFICULTY_BITS};
pub use op_stack::OpFork;
pub use rules::Rules;

use crate::error::Error;
use blobs::BlobSchedule;
use chain_ids::ChainIds;
use op_stack::OpForks;
use rules::maximum_initcode;

/// Chain spec, read from genesis.json.
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
    /// Return the chain spec in a genesis.json of geth's format.
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

    /// Return the chain id of the next block.
    pub fn chain_id(&self) -> u64 {
        self.chain_ids.current()
    }

    pub fn chain_id_at(&self, number: u64) -> u64 {
        self.chain_ids.at(number)
    }

    /// Set the chain ids after the genesis's: the first block of each and the id, ascending.
    pub fn set_chain_ids(&self, changes: Vec<(u64, u64)>) {
        self.chain_ids.set_changes(changes);
    }

    /// Return the family whose encodings the chain's transactions and receipts have.
    pub fn family(&self) -> Family {
        self.family
    }

    /// Return the family whose encodings a block has. The first block may come from a chain of another
    /// family.
    pub fn family_at(&self, number: u64) -> Family {
        match &self.genesis.elsewhere {
            Some(elsewhere) if number <= self.genesis.header.number => elsewhere.family,
            _ => self.family,
        }
    }

    /// Return whether ArbOS executes some accounts of the state. The EVM cannot execute them.
    pub fn has_arbos(&self) -> bool {
        self.has_arbos
    }

    pub fn header_rules(&self) -> &HeaderRules {
        &self.header_rules
    }

    /// Return the newest active fork of the OP stack among those with changes beyond Ethereum's forks.
    pub fn op_fork(&self, timestamp: u64) -> Option<OpFork> {
        self.op_forks.newest(timestamp)
    }

    /// Return whether the chain's blocks are sealed by authorities, with any difficulty.
    pub fn is_sealed_by_authority(&self) -> bool {
        self.header_rules.seal != Seal::Ethereum
    }

    pub fn genesis(&self) -> &Genesis {
        &self.genesis
    }

    pub fn genesis_hash(&self) -> B256 {
        self.genesis.hash
    }

    /// Return the name of the newest fork that is active at a block.
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

    /// Return the rows of the forks that are active at a block, the newest last.
    pub fn active_forks(&self, number: u64, timestamp: u64) -> Vec<&'static ForkRow> {
        self.forks.active(number, timestamp)
    }

    /// Return the activation of a fork: a block number up to Paris, a time in seconds from Shanghai on, or
    /// None.
    pub fn activation(&self, fork: Fork) -> Option<u64> {
        self.forks.activation(fork)
    }

    /// Return the total difficulty at which proof of stake begins, or None if it never does.
    pub fn terminal_total_difficulty(&self) -> Option<U256> {
        self.terminal_total_difficulty
    }

    /// Return whether a block has the rules of proof of stake. The argument is its parent's total difficulty.
    pub fn is_proof_of_stake(&self, parent_total_difficulty: U256) -> bool {
        let is_merged =
            self.terminal_total_difficulty.is_some_and(|terminal| parent_total_difficulty >= terminal);
        is_merged || self.is_sealed_by_authority()
    }

    /// Return whether the block after `parent` is one of proof of stake, as far as the parent's header shows
    /// it.
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

    /// Return the blob parameters in force at `timestamp`, or None before blobs.
    pub fn blob_parameters(&self, timestamp: u64) -> Option<BlobParams> {
        self.blobs.at(timestamp)
    }

    /// Return the limit of a contract's code in bytes, or None if it is the protocol's (EIP-170).
    pub fn code_size_limit(&self) -> Option<usize> {
        self.code_size_limit
    }

    /// Return the limit of init code in bytes: twice that of a contract's code (EIP-3860).
    pub fn initcode_limit(&self, rules: SpecId) -> usize {
        self.code_size_limit.map_or_else(|| maximum_initcode(rules), |limit| limit.saturating_mul(2))
    }

    pub fn is_active(&self, fork: Fork, number: u64) -> bool {
        self.forks.active_at_block(fork, number)
    }

    /// Return whether a fork by time is active at a block. Every such fork needs London.
    pub fn is_active_at(&self, fork: Fork, number: u64, timestamp: u64) -> bool {
        self.is_london(number) && self.forks.active_at_time(fork, timestamp)
    }

    pub fn is_london(&self, number: u64) -> bool {
        self.forks.active_at_block(Fork::London, number)
    }

    /// Return the block number of the DAO fork, and whether the chain supports it; None if the chain has no
    /// DAO fork.
    pub fn dao_fork(&self) -> Option<(u64, bool)> {
        self.forks.activation(Fork::Dao).map(|number| (number, self.dao_support))
    }
}
