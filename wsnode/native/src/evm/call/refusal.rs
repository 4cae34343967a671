//! Refusals of messages before their run, in geth's words.

use alloy_eips::eip4844::{DATA_GAS_PER_BLOB, VERSIONED_HASH_VERSION_KZG};
use alloy_evm::EvmEnv;
use alloy_primitives::U256;
use revm::context::TxEnv;
use revm::context_interface::result::InvalidTransaction;
use revm::primitives::hardfork::SpecId;
use revm::primitives::TxKind;

use super::fees::Fees;
use super::Message;
use crate::error::Error;

const MAXIMUM_BLOBS: usize = 6;

pub fn refuse(kind: &'static str, message: impl Into<String>) -> Error {
    Error::InvalidTransaction { kind, message: message.into() }
}

/// Return the error message of a call that cannot begin for `reason`, in geth's words.
pub fn with_supplied_gas(reason: &str, gas: u64) -> String {
    format!("err: {reason} (supplied gas {gas})")
}

/// Check the rules that geth checks before the sender's balance. A message without fees is free.
pub fn check(message: &Message, fees: &Fees, environment: &EvmEnv) -> Result<(), Error> {
    check_all(message, fees, environment, false)
}

/// Check the same rules as `check`, but count a missing fee as zero, which may be below the base fee.
pub fn check_strictly(message: &Message, fees: &Fees, environment: &EvmEnv) -> Result<(), Error> {
    check_all(message, fees, environment, true)
}

fn check_all(message: &Message, fees: &Fees, environment: &EvmEnv, is_strict: bool) -> Result<(), Error> {
    let rules = environment.cfg_env.spec;
    if rules.is_enabled_in(SpecId::LONDON) {
        check_fees(message, fees, environment.block_env.basefee, is_strict)?;
    }
    check_type(message, rules)?;
    if let Some(hashes) = &message.blob_hashes {
        let limit = if rules.is_enabled_in(SpecId::OSAKA) { MAXIMUM_BLOBS } else { usize::MAX };
        check_blobs(message, hashes, limit)?;
    }
    check_blob_fee(message, environment, is_strict)?;
    match &message.authorizations {
        Some(_) if message.to == TxKind::Create => Err(refuse(
            "set_code_create",
            of_sender(message, "EIP-7702 transaction cannot be used to create contract"),
        )),
        Some(list) if list.is_empty() => Err(refuse(
            "empty_authorizations",
            of_sender(message, "EIP-7702 transaction with empty auth list"),
        )),
        _ => Ok(()),
    }
}

/// Refuse a member of a transaction type that the rules do not have yet.
fn check_type(message: &Message, rules: SpecId) -> Result<(), Error> {
    let types = [
        (message.access_list.is_some(), SpecId::BERLIN, "access list"),
        (message.blob_hashes.is_some(), SpecId::CANCUN, "blob"),
        (message.authorizations.is_some(), SpecId::PRAGUE, "setcode"),
    ];
    match types.into_iter().find(|(is_used, fork, _)| *is_used && !rules.is_enabled_in(*fork)) {
        Some((_, _, name)) => {
            let words = format!("transaction type not supported: {name} tx");
            Err(refuse("transaction_type", of_sender(message, &words)))
        }
        None => Ok(()),
    }
}

fn of_sender(message: &Message, words: &str) -> String {
    format!("{words} (sender {})", message.sender)
}

fn check_fees(message: &Message, fees: &Fees, base_fee: u64, is_strict: bool) -> Result<(), Error> {
    let Fees { cap, tip, .. } = fees;
    if !is_strict && cap.is_zero() && tip.is_zero() {
        return Ok(());
    }
    let sender = message.sender;
    if cap < tip {
        let words = "max priority fee per gas higher than max fee per gas";
        let text = format!("{words}: address {sender}, maxPriorityFeePerGas: {tip}, maxFeePerGas: {cap}");
        return Err(refuse("tip_above_fee", text));
    }
    if *cap < U256::from(base_fee) {
        let words = "max fee per gas less than block base fee";
        let text = format!("{words}: address {sender}, maxFeePerGas: {cap}, baseFee: {base_fee}");
        return Err(refuse("fee_below_base", text));
    }
    Ok(())
}

fn check_blobs(message: &Message, hashes: &[alloy_primitives::B256], limit: usize) -> Result<(), Error> {
    if message.to == TxKind::Create {
        return Err(refuse("blob_create", "blob transaction of type create"));
    }
    if hashes.is_empty() {
        return Err(refuse("no_blobs", "blob transaction missing blob hashes"));
    }
    if hashes.len() > limit {
        return Err(refuse("too_many_blobs", "blob transaction has too many blobs"));
    }
    match hashes.iter().position(|hash| hash[0] != VERSIONED_HASH_VERSION_KZG) {
        Some(index) => Err(refuse("blob_version", format!("blob {index} has invalid hash version"))),
        None => Ok(()),
    }
}

fn check_blob_fee(message: &Message, environment: &EvmEnv, is_strict: bool) -> Result<(), Error> {
    let has_blobs = message.blob_hashes.as_ref().is_some_and(|hashes| !hashes.is_empty());
    let cap = message.max_blob_fee.unwrap_or_default();
    let price = environment.block_env.blob_excess_gas_and_price.map_or(0, |blobs| blobs.blob_gasprice);
    if !has_blobs || (!is_strict && cap.is_zero()) || cap >= U256::from(price) {
        return Ok(());
    }
    let words = "max fee per blob gas less than block blob gas fee";
    let text = format!("{words}: address {} blobGasFeeCap: {cap}, blobBaseFee: {price}", message.sender);
    Err(refuse("blob_fee_below_base", text))
}

/// Check that the sender can pay the highest price for `gas`, the value and the blobs.
pub fn check_balance(message: &Message, fees: &Fees, gas: u64, balance: U256) -> Result<(), Error> {
    let words = "insufficient funds for gas * price + value";
    let sender = message.sender;
    let Some(wanted) = cost(message, fees, gas) else {
        let text = format!("{words}: address {sender} required balance exceeds 256 bits");
        return Err(refuse("insufficient_funds", text));
    };
    if balance < wanted {
        let text = format!("{words}: address {sender} have {balance} want {wanted}");
        return Err(refuse("insufficient_funds", text));
    }
    Ok(())
}

fn cost(message: &Message, fees: &Fees, gas: u64) -> Option<U256> {
    let blobs = message.blob_hashes.as_ref().map_or(0, Vec::len) as u64;
    let blob_fee =
        U256::from(blobs * DATA_GAS_PER_BLOB).checked_mul(message.max_blob_fee.unwrap_or_default())?;
    fees.cap.checked_mul(U256::from(gas))?.checked_add(message.value)?.checked_add(blob_fee)
}

/// Return the error for a message that revm refused after the checks above.
pub fn from_revm(reason: &InvalidTransaction, message: &Message, initcode_limit: usize) -> Error {
    match reason {
        InvalidTransaction::CallGasCostMoreThanGasLimit { initial_gas, gas_limit } => {
            refuse("intrinsic_gas", format!("intrinsic gas too low: have {gas_limit}, want {initial_gas}"))
        }
        InvalidTransaction::GasFloorMoreThanGasLimit { gas_floor, gas_limit } => {
            let words = "insufficient gas for floor data gas cost";
            refuse("floor_gas", format!("{words}: have {gas_limit}, want {gas_floor}"))
        }
        InvalidTransaction::CreateInitCodeSizeLimit => {
            let size = message.input.len();
            let text = format!("max initcode size exceeded: code size {size} limit {initcode_limit}");
            refuse("initcode_size", text)
        }
        other => refuse("invalid", other.to_string()),
    }
}

/// Return the error for a transaction that revm refused in a block with `base_fee`, in wei per gas.
pub fn of_transaction(reason: &InvalidTransaction, transaction: &TxEnv, base_fee: u64) -> Error {
    let sender = transaction.caller;
    let text = match reason {
        InvalidTransaction::NonceTooLow { tx, state } => {
            format!("nonce too low: address {sender}, tx: {tx} state: {state}")
        }
        InvalidTransaction::NonceTooHigh { tx, state } => {
            format!("nonce too high: address {sender}, tx: {tx} state: {state}")
        }
        InvalidTransaction::LackOfFundForMaxFee { fee, balance } => {
            let words = "insufficient funds for gas * price + value";
            format!("{words}: address {sender} have {balance} want {fee}")
        }
        InvalidTransaction::GasPriceLessThanBasefee => {
            let cap = transaction.gas_price;
            let words = "max fee per gas less than block base fee";
            format!("{words}: address {sender}, maxFeePerGas: {cap}, baseFee: {base_fee}")
        }
        InvalidTransaction::CallGasCostMoreThanGasLimit { initial_gas, gas_limit } => {
            format!("intrinsic gas too low: have {gas_limit}, want {initial_gas}")
        }
        InvalidTransaction::GasFloorMoreThanGasLimit { gas_floor, gas_limit } => {
            format!("insufficient gas for floor data gas cost: have {gas_limit}, want {gas_floor}")
        }
        other => other.to_string(),
    };
    refuse("transaction", text)
}
