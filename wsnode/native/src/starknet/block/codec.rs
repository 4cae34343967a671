//! Decoder of blocks with receipts and of state updates from JSON (starknet-specs 0.9 and 0.10).
//!
//! It checks the form of the members only, not their values. Members of other kinds or versions are ignored; a
//! member sent twice is refused.

use std::borrow::Cow;

use serde::de::{Deserializer, Error};
use serde::Deserialize;
use starknet_types_core::felt::Felt;

use super::error::BlockError;
use crate::starknet::json::{felt, felts, maybe_felt, maybe_felts, path_of};

const MAX_TRANSACTIONS: usize = 20_000;

/// Result of `starknet_getBlockWithReceipts`, not verified.
#[derive(Deserialize)]
pub struct UnverifiedBlock<'a> {
    #[serde(deserialize_with = "felt")]
    pub block_hash: Felt,
    #[serde(deserialize_with = "felt")]
    pub parent_hash: Felt,
    pub block_number: u64,
    #[serde(deserialize_with = "felt")]
    pub new_root: Felt,
    pub timestamp: u64,
    #[serde(deserialize_with = "felt", default)]
    pub sequencer_address: Felt,
    #[serde(borrow, default)]
    pub starknet_version: Cow<'a, str>,
    pub l1_da_mode: Option<AvailabilityMode>,
    pub l1_gas_price: Option<GasPrice>,
    pub l1_data_gas_price: Option<GasPrice>,
    pub l2_gas_price: Option<GasPrice>,
    #[serde(deserialize_with = "maybe_felt", default)]
    pub transaction_commitment: Option<Felt>,
    #[serde(deserialize_with = "maybe_felt", default)]
    pub event_commitment: Option<Felt>,
    #[serde(deserialize_with = "maybe_felt", default)]
    pub receipt_commitment: Option<Felt>,
    #[serde(deserialize_with = "maybe_felt", default)]
    pub state_diff_commitment: Option<Felt>,
    pub transaction_count: Option<u64>,
    pub event_count: Option<u64>,
    pub state_diff_length: Option<u64>,
    #[serde(borrow)]
    pub transactions: Vec<TransactionWithReceipt<'a>>,
}

/// Place on L1 where a block's state diff is published.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
pub enum AvailabilityMode {
    #[serde(rename = "BLOB")]
    Blob,
    #[serde(rename = "CALLDATA")]
    Calldata,
}

#[derive(Deserialize, Clone, Copy)]
pub struct GasPrice {
    #[serde(deserialize_with = "felt")]
    pub price_in_wei: Felt,
    #[serde(deserialize_with = "felt")]
    pub price_in_fri: Felt,
}

#[derive(Deserialize)]
pub struct TransactionWithReceipt<'a> {
    pub transaction: UnverifiedTransaction,
    #[serde(borrow)]
    pub receipt: UnverifiedReceipt<'a>,
}

#[derive(Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TransactionKind {
    Invoke,
    Declare,
    Deploy,
    DeployAccount,
    L1Handler,
}

impl TransactionKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Invoke => "INVOKE",
            Self::Declare => "DECLARE",
            Self::Deploy => "DEPLOY",
            Self::DeployAccount => "DEPLOY_ACCOUNT",
            Self::L1Handler => "L1_HANDLER",
        }
    }
}

/// Transaction of any kind and version; its hash formula decides which members are required.
#[derive(Deserialize)]
pub struct UnverifiedTransaction {
    #[serde(rename = "type")]
    pub kind: TransactionKind,
    #[serde(deserialize_with = "felt")]
    pub version: Felt,
    #[serde(deserialize_with = "maybe_felt", default)]
    pub transaction_hash: Option<Felt>,
    #[serde(deserialize_with = "maybe_felt", default)]
    pub sender_address: Option<Felt>,
    #[serde(deserialize_with = "maybe_felt", default)]
    pub contract_address: Option<Felt>,
    #[serde(deserialize_with = "maybe_felt", default)]
    pub nonce: Option<Felt>,
    #[serde(deserialize_with = "maybe_felt", default)]
    pub max_fee: Option<Felt>,
    #[serde(deserialize_with = "maybe_felt", default)]
    pub class_hash: Option<Felt>,
    #[serde(deserialize_with = "maybe_felt", default)]
    pub compiled_class_hash: Option<Felt>,
    #[serde(deserialize_with = "maybe_felt", default)]
    pub entry_point_selector: Option<Felt>,
    #[serde(deserialize_with = "maybe_felt", default)]
    pub contract_address_salt: Option<Felt>,
    #[serde(deserialize_with = "maybe_felt", default)]
    pub tip: Option<Felt>,
    #[serde(deserialize_with = "maybe_felts", default)]
    pub calldata: Option<Vec<Felt>>,
    #[serde(deserialize_with = "maybe_felts", default)]
    pub constructor_calldata: Option<Vec<Felt>>,
    #[serde(deserialize_with = "maybe_felts", default)]
    pub signature: Option<Vec<Felt>>,
    #[serde(deserialize_with = "maybe_felts", default)]
    pub paymaster_data: Option<Vec<Felt>>,
    #[serde(deserialize_with = "maybe_felts", default)]
    pub account_deployment_data: Option<Vec<Felt>>,
    #[serde(deserialize_with = "maybe_felts", default)]
    pub proof_facts: Option<Vec<Felt>>,
    pub resource_bounds: Option<ResourceBounds>,
    pub nonce_data_availability_mode: Option<DataLayer>,
    pub fee_data_availability_mode: Option<DataLayer>,
}

#[derive(Deserialize, Clone, Copy)]
pub struct ResourceBounds {
    pub l1_gas: ResourceBound,
    pub l2_gas: ResourceBound,
    pub l1_data_gas: Option<ResourceBound>,
}

#[derive(Deserialize, Clone, Copy)]
pub struct ResourceBound {
    #[serde(deserialize_with = "amount")]
    pub max_amount: u64,
    #[serde(deserialize_with = "price")]
    pub max_price_per_unit: u128,
}

/// Layer of an account's nonce or of its fee balance.
#[derive(Deserialize, Clone, Copy)]
pub enum DataLayer {
    L1,
    L2,
}

#[derive(Deserialize)]
pub struct UnverifiedReceipt<'a> {
    #[serde(rename = "type")]
    pub kind: TransactionKind,
    #[serde(deserialize_with = "felt")]
    pub transaction_hash: Felt,
    pub actual_fee: Fee,
    pub execution_status: ExecutionStatus,
    #[serde(borrow)]
    pub revert_reason: Option<Cow<'a, str>>,
    pub messages_sent: Vec<L1Message>,
    pub events: Vec<UnverifiedEvent>,
    pub execution_resources: GasUsed,
    #[serde(deserialize_with = "maybe_felt", default)]
    pub contract_address: Option<Felt>,
    #[serde(borrow)]
    pub message_hash: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
pub struct Fee {
    #[serde(deserialize_with = "felt")]
    pub amount: Felt,
    pub unit: FeeUnit,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "UPPERCASE")]
pub enum FeeUnit {
    Wei,
    Fri,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "UPPERCASE")]
pub enum ExecutionStatus {
    Succeeded,
    Reverted,
}

/// Message to a contract of Ethereum.
#[derive(Deserialize)]
pub struct L1Message {
    #[serde(deserialize_with = "felt")]
    pub from_address: Felt,
    #[serde(deserialize_with = "felt")]
    pub to_address: Felt,
    #[serde(deserialize_with = "felts")]
    pub payload: Vec<Felt>,
}

#[derive(Deserialize)]
pub struct UnverifiedEvent {
    #[serde(deserialize_with = "felt")]
    pub from_address: Felt,
    #[serde(deserialize_with = "felts")]
    pub keys: Vec<Felt>,
    #[serde(deserialize_with = "felts")]
    pub data: Vec<Felt>,
}

/// Gas used by a transaction; `l2_gas` is not read, since no commitment covers it.
#[derive(Deserialize)]
pub struct GasUsed {
    pub l1_gas: u64,
    pub l1_data_gas: u64,
}

/// Result of `starknet_getStateUpdate`, not verified.
#[derive(Deserialize)]
pub struct UnverifiedStateUpdate {
    #[serde(deserialize_with = "felt")]
    pub block_hash: Felt,
    #[serde(deserialize_with = "felt")]
    pub old_root: Felt,
    #[serde(deserialize_with = "felt")]
    pub new_root: Felt,
    pub state_diff: UnverifiedStateDiff,
}

#[derive(Deserialize)]
pub struct UnverifiedStateDiff {
    pub storage_diffs: Vec<StorageDiff>,
    pub nonces: Vec<NonceChange>,
    pub deployed_contracts: Vec<DeployedContract>,
    pub replaced_classes: Vec<ReplacedClass>,
    pub declared_classes: Vec<CompiledClass>,
    pub migrated_compiled_classes: Option<Vec<CompiledClass>>,
    #[serde(deserialize_with = "felts")]
    pub deprecated_declared_classes: Vec<Felt>,
}

#[derive(Deserialize)]
pub struct StorageDiff {
    #[serde(deserialize_with = "felt")]
    pub address: Felt,
    pub storage_entries: Vec<StorageEntry>,
}

#[derive(Deserialize)]
pub struct StorageEntry {
    #[serde(deserialize_with = "felt")]
    pub key: Felt,
    #[serde(deserialize_with = "felt")]
    pub value: Felt,
}

#[derive(Deserialize)]
pub struct NonceChange {
    #[serde(deserialize_with = "felt")]
    pub contract_address: Felt,
    #[serde(deserialize_with = "felt")]
    pub nonce: Felt,
}

#[derive(Deserialize)]
pub struct DeployedContract {
    #[serde(deserialize_with = "felt")]
    pub address: Felt,
    #[serde(deserialize_with = "felt")]
    pub class_hash: Felt,
}

#[derive(Deserialize)]
pub struct ReplacedClass {
    #[serde(deserialize_with = "felt")]
    pub contract_address: Felt,
    #[serde(deserialize_with = "felt")]
    pub class_hash: Felt,
}

#[derive(Deserialize)]
pub struct CompiledClass {
    #[serde(deserialize_with = "felt")]
    pub class_hash: Felt,
    #[serde(deserialize_with = "felt")]
    pub compiled_class_hash: Felt,
}

impl<'a> UnverifiedBlock<'a> {
    /// Return the block of a JSON text; refuse more than 20,000 transactions.
    pub fn read(text: &'a [u8]) -> Result<Self, BlockError> {
        let block: Self = serde_json::from_slice(text).map_err(|error| malformed("block", text, &error))?;
        if block.transactions.len() > MAX_TRANSACTIONS {
            let reason = format!("{} are more than {MAX_TRANSACTIONS}", block.transactions.len());
            return Err(BlockError::malformed("transactions", reason));
        }
        Ok(block)
    }
}

impl UnverifiedStateUpdate {
    pub fn read(text: &[u8]) -> Result<Self, BlockError> {
        serde_json::from_slice(text).map_err(|error| malformed("state_update", text, &error))
    }
}

/// Return the refusal of a text, with the path of the member at which its decoder stopped.
fn malformed(whole: &str, text: &[u8], error: &serde_json::Error) -> BlockError {
    let path = path_of(error, text);
    BlockError::malformed(if path.is_empty() { whole.to_owned() } else { path }, error)
}

fn amount<'de, D: Deserializer<'de>>(source: D) -> Result<u64, D::Error> {
    felt(source)?.try_into().map_err(|_| D::Error::custom("an amount of gas is below 2^64"))
}

fn price<'de, D: Deserializer<'de>>(source: D) -> Result<u128, D::Error> {
    felt(source)?.try_into().map_err(|_| D::Error::custom("a price of gas is below 2^128"))
}
