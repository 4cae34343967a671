//! One call of a simulated block.

use alloy_eips::eip4844::DATA_GAS_PER_BLOB;
use alloy_evm::EvmEnv;
use alloy_primitives::{Bytes, U256};
use revm::context::result::{EVMError, ExecutionResult, HaltReason, Output, ResultAndState};
use revm::context::{Cfg, CfgEnv, TxEnv};
use revm::inspector::InspectEvm;
use revm::primitives::hardfork::SpecId;
use revm::primitives::TxKind;

use super::env::SimulationEnv;
use super::precompiles::Borrowed;
use super::simulated_state::SimulatedState;
use super::tracer::{NumberedLog, SimulationTracer};
use super::transaction::Unsigned;
use crate::error::Error;
use crate::evm::call::evm::build_with;
use crate::evm::call::fees::Fees;
use crate::evm::call::refusal::{self, refuse};
use crate::evm::call::unsigned::UnsignedTerms;
use crate::evm::call::{env, halt, with_supplied_gas, Message};

const CAPPED: &str = " (gas limit was capped by the RPC server's global gas cap)";

#[derive(Debug)]
pub struct CallResult {
    pub transaction: Unsigned,
    pub message: Box<Message>,
    pub logs: Vec<NumberedLog>,
    /// Logs of the call itself, without transfers.
    pub receipt_logs: Vec<alloy_primitives::Log>,
    pub gas_used: u64,
    /// Gas that the call takes of the block: gas used, and from Amsterdam on gas for execution before
    /// refunds.
    pub block_gas: u64,
    /// Gas that the call takes of the block for state, from Amsterdam on.
    pub block_state_gas: u64,
    /// Gas used before refunds, but at least the floor of EIP-7623.
    pub max_used_gas: u64,
    pub end: End,
}

#[derive(Debug)]
pub enum End {
    Success(Bytes),
    Revert(Bytes),
    Halt(String),
}

/// Gas limit of a call, and whether the call asked for more.
#[derive(Debug, Clone, Copy)]
struct Supply {
    gas: u64,
    is_capped: bool,
}

/// Run `message` with `remaining` gas left in the block and `budget` gas left in the whole simulation.
pub fn run(
    message: Box<Message>,
    env: &mut SimulationEnv,
    simulated_state: &mut SimulatedState<'_>,
    tracer: &mut SimulationTracer,
    remaining: u64,
    budget: u64,
) -> Result<CallResult, Error> {
    let supply = supply(&message, remaining, budget)?;
    let account = simulated_state.account(message.sender)?;
    let nonce = message.nonce.unwrap_or(account.nonce);
    let base_fee = env.base_fee;
    let terms =
        UnsignedTerms { chain_id: env.chain_id, nonce, gas: supply.gas, has_base_fee: base_fee.is_some() };
    let fees = Fees::of(&message, base_fee);
    check(&message, &fees, env, nonce, account.nonce)
        .and_then(|()| refusal::check_balance(&message, &fees, supply.gas, account.balance))
        .map_err(|error| supplied(error, supply.gas))?;
    let transaction = Unsigned::new(&message, terms)?;
    tracer.wraps_nonce = message.to != TxKind::Create && account.nonce == u64::MAX;
    let executed = execute(&message, &fees, terms, account.balance, env, simulated_state, tracer)
        .map_err(|error| supplied(error, supply.gas))?;
    simulated_state.commit(executed.state, env.clears_empty)?;
    Ok(result(executed.result, message, transaction, tracer, supply, env.environment.cfg_env.spec))
}

fn supply(message: &Message, remaining: u64, budget: u64) -> Result<Supply, Error> {
    let wanted = message.gas.unwrap_or(remaining);
    if remaining < wanted {
        let text = format!("block gas limit reached: remaining: {remaining}, required: {wanted}");
        return Err(refuse("block_gas_limit", text));
    }
    Ok(Supply { gas: wanted.min(budget), is_capped: budget < wanted })
}

fn supplied(error: Error, gas: u64) -> Error {
    match error {
        Error::InvalidTransaction { kind, message } if kind != "interrupted" => {
            refuse(kind, with_supplied_gas(&message, gas))
        }
        other => other,
    }
}

/// Check what geth checks before the balance, in its order.
fn check(
    message: &Message,
    fees: &Fees,
    env: &SimulationEnv,
    nonce: u64,
    state_nonce: u64,
) -> Result<(), Error> {
    if env.is_strict {
        check_nonce(message, nonce, state_nonce)?;
    }
    if env.is_strict {
        refusal::check_strictly(message, fees, &env.environment)?;
    } else {
        refusal::check(message, fees, &env.environment)?;
    }
    check_initcode(message, &env.environment.cfg_env)
}

fn check_nonce(message: &Message, nonce: u64, state_nonce: u64) -> Result<(), Error> {
    let sender = message.sender;
    if nonce == state_nonce && nonce == u64::MAX {
        return Err(refuse("nonce_max", format!("nonce has max value: address {sender}, nonce: {nonce}")));
    }
    let (kind, words) = match nonce.cmp(&state_nonce) {
        std::cmp::Ordering::Less => ("nonce_too_low", "nonce too low"),
        std::cmp::Ordering::Greater => ("nonce_too_high", "nonce too high"),
        std::cmp::Ordering::Equal => return Ok(()),
    };
    Err(refuse(kind, format!("{words}: address {sender}, tx: {nonce} state: {state_nonce}")))
}

fn check_initcode(message: &Message, settings: &CfgEnv) -> Result<(), Error> {
    let size = message.input.len();
    let limit = settings.max_initcode_size();
    if message.to != TxKind::Create || !settings.spec.is_enabled_in(SpecId::SHANGHAI) || size <= limit {
        return Ok(());
    }
    Err(refuse("initcode_size", format!("max initcode size exceeded: code size {size} limit {limit}")))
}

fn execute(
    message: &Message,
    fees: &Fees,
    terms: UnsignedTerms,
    balance: U256,
    env: &mut SimulationEnv,
    simulated_state: &mut SimulatedState<'_>,
    tracer: &mut SimulationTracer,
) -> Result<ResultAndState, Error> {
    let mut environment = env.environment.clone();
    let mut transaction = env::transaction(message, fees, terms.gas, environment.cfg_env.spec);
    name_price(&mut transaction, fees, environment.cfg_env.spec);
    let spent = fees.cap.saturating_mul(U256::from(terms.gas)).saturating_add(message.value);
    name_blob_fee(&mut transaction, &mut environment, balance.saturating_sub(spent));
    let initcode_limit = environment.cfg_env.max_initcode_size();
    let precompiles = Borrowed(&mut env.precompiles);
    let mut evm = build_with(&mut simulated_state.state, environment, precompiles, std::mem::take(tracer));
    let result = evm.inspect_tx(transaction);
    *tracer = evm.inspector;
    super::check_interrupted(simulated_state.state.work_budget)?;
    result.map_err(|error| match error {
        EVMError::Transaction(reason) => refusal::from_revm(&reason, message, initcode_limit),
        EVMError::Database(error) => error.into(),
        other => Error::internal(other),
    })
}

/// Set the gas price before London, where only an override can give a base fee: the price is that of the fees
/// under it.
fn name_price(transaction: &mut TxEnv, fees: &Fees, rules: SpecId) {
    if fees.is_dynamic && !rules.is_enabled_in(SpecId::LONDON) {
        transaction.tx_type = u8::from(!transaction.access_list.is_empty());
        transaction.gas_price = fees.price.saturating_to();
        transaction.gas_priority_fee = None;
    }
}

/// Set the blob fee of a message that names none: the block's price if the sender can pay it, else zero.
fn name_blob_fee(transaction: &mut TxEnv, environment: &mut EvmEnv, purse: U256) {
    let is_unnamed = transaction.max_fee_per_blob_gas == 0 && !transaction.blob_hashes.is_empty();
    let blob_gas = U256::from(transaction.blob_hashes.len() as u64 * DATA_GAS_PER_BLOB);
    if let (true, Some(blobs)) = (is_unnamed, &mut environment.block_env.blob_excess_gas_and_price) {
        if blob_gas.saturating_mul(U256::from(blobs.blob_gasprice)) > purse {
            blobs.blob_gasprice = 0;
        }
        transaction.max_fee_per_blob_gas = blobs.blob_gasprice;
    }
}

fn result(
    executed: ExecutionResult,
    message: Box<Message>,
    transaction: Unsigned,
    tracer: &mut SimulationTracer,
    supply: Supply,
    rules: SpecId,
) -> CallResult {
    let gas = executed.gas();
    let (gas_used, max_used_gas) = (gas.tx_gas_used(), gas.total_gas_spent().max(gas.floor_gas()));
    let (block_gas, block_state_gas) = match rules.is_enabled_in(SpecId::AMSTERDAM) {
        true => (gas.block_regular_gas_used(), gas.block_state_gas_used()),
        false => (gas_used, 0),
    };
    let mut logs = tracer.take_logs();
    let mut receipt_logs = Vec::new();
    let end = match executed {
        ExecutionResult::Success { output: Output::Create(_, None), .. } => {
            logs.clear();
            End::Halt(halted(halt::words(&HaltReason::NonceOverflow, tracer.last), supply))
        }
        ExecutionResult::Success { output, logs, .. } => {
            receipt_logs = logs;
            End::Success(output.into_data())
        }
        ExecutionResult::Revert { output, .. } => End::Revert(output),
        ExecutionResult::Halt { reason, .. } => End::Halt(halted(halt::words(&reason, tracer.last), supply)),
    };
    CallResult {
        transaction,
        message,
        logs,
        receipt_logs,
        gas_used,
        block_gas,
        block_state_gas,
        max_used_gas,
        end,
    }
}

fn halted(words: String, supply: Supply) -> String {
    if supply.is_capped {
        words + CAPPED
    } else {
        words
    }
}
