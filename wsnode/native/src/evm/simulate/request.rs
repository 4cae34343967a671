//! What a caller asks to be simulated.

use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B256, U256, U64};
use alloy_rpc_types_eth::state::StateOverride;
use serde::de::DeserializeOwned;
use serde::Deserialize;

use crate::error::Error;
use crate::evm::call::refusal::refuse;
use crate::evm::call::Message;

/// Blocks on top of each other, and how they are run.
#[derive(Debug, Clone)]
pub struct SimulationRequest {
    pub blocks: Vec<Block>,
    pub options: SimulationOptions,
}

/// How all blocks are run.
#[derive(Debug, Clone, Copy)]
pub struct SimulationOptions {
    /// Nonces and fees count as in real blocks.
    pub is_strict: bool,
    /// Every transfer of ether is shown as a log.
    pub traces_transfers: bool,
    /// Transaction objects instead of their hashes.
    pub full_transactions: bool,
    /// The most gas that all calls together may use.
    pub gas_cap: u64,
}

/// A block's content, and what is to be different in it.
#[derive(Debug, Clone, Default)]
pub struct Block {
    pub overrides: BlockOverrides,
    pub state: StateOverride,
    pub calls: Vec<Call>,
}

/// A call, or why its arguments contradict each other, which is said only when its turn comes.
#[derive(Debug, Clone)]
pub enum Call {
    Message(Box<Message>),
    Refused(String),
}

/// Members of a header that a caller sets.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BlockOverrides {
    pub number: Option<U256>,
    pub difficulty: Option<U256>,
    pub time: Option<U64>,
    pub gas_limit: Option<U64>,
    pub fee_recipient: Option<Address>,
    pub prev_randao: Option<B256>,
    pub base_fee_per_gas: Option<U256>,
    pub blob_base_fee: Option<U256>,
    pub beacon_root: Option<B256>,
    pub withdrawals: Vec<Withdrawal>,
}

impl Block {
    /// The block that two JSON texts, where they are there, and calls describe.
    pub fn parse(overrides: Option<&[u8]>, state: Option<&[u8]>, calls: Vec<Call>) -> Result<Self, Error> {
        Ok(Self { overrides: parse(overrides)?, state: parse(state)?, calls })
    }
}

fn parse<T: DeserializeOwned + Default>(text: Option<&[u8]>) -> Result<T, Error> {
    let wrong = |reason: serde_json::Error| refuse("overrides", format!("invalid overrides: {reason}"));
    text.map_or_else(|| Ok(T::default()), |text| serde_json::from_slice(text).map_err(wrong))
}
