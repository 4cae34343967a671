//! Request of a simulation.

use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B256, U256, U64};
use alloy_rpc_types_eth::state::StateOverride;
use serde::de::DeserializeOwned;
use serde::Deserialize;

use crate::error::Error;
use crate::evm::call::refusal::refuse;
use crate::evm::call::Message;

/// Blocks on top of each other, and the options of their runs.
#[derive(Debug, Clone)]
pub struct SimulationRequest {
    pub blocks: Vec<Block>,
    pub options: SimulationOptions,
}

/// Options of all blocks.
#[derive(Debug, Clone, Copy)]
pub struct SimulationOptions {
    /// True if nonces and fees are checked as in real blocks.
    pub is_strict: bool,
    /// True if every transfer of ether is shown as a log.
    pub traces_transfers: bool,
    /// True for transaction objects instead of hashes.
    pub full_transactions: bool,
    /// Highest gas of all calls together.
    pub gas_cap: u64,
}

/// Content of a block, and its overrides.
#[derive(Debug, Clone, Default)]
pub struct Block {
    pub overrides: BlockOverrides,
    pub state: StateOverride,
    pub calls: Vec<Call>,
}

/// Call, or the reason why its arguments contradict each other. The reason is reported when the call's turn
/// comes.
#[derive(Debug, Clone)]
pub enum Call {
    Message(Box<Message>),
    Refused(String),
}

/// Header members that a caller sets.
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
    /// Return the block with `calls`, and overrides in two JSON texts, if any.
    pub fn parse(overrides: Option<&[u8]>, state: Option<&[u8]>, calls: Vec<Call>) -> Result<Self, Error> {
        Ok(Self { overrides: parse(overrides)?, state: parse(state)?, calls })
    }
}

fn parse<T: DeserializeOwned + Default>(text: Option<&[u8]>) -> Result<T, Error> {
    let wrong = |reason: serde_json::Error| refuse("overrides", format!("invalid overrides: {reason}"));
    text.map_or_else(|| Ok(T::default()), |text| serde_json::from_slice(text).map_err(wrong))
}
