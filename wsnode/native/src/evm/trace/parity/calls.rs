//! Traces of calls and of signed transactions outside any block.

use alloy_evm::FromRecoveredTx;
use alloy_primitives::map::HashSet;
use alloy_rpc_types_trace::parity::TraceType;
use revm::context::result::EVMError;
use revm::context::TxEnv;
use revm::inspector::InspectEvm;
use revm_inspectors::tracing::TracingInspectorConfig;

use super::{bounded, trace_results, write};
use crate::error::Error;
use crate::evm::call::database::commit;
use crate::evm::call::refusal;
use crate::evm::call::{build_evm, failure, CallEnv, CallSite, CallState, Layer, Message, WorkBudget};
use crate::evm::environment::{evm_environment, precompiles};
use crate::evm::trace::recorder::TraceRecorder;
use crate::evm::trace::run::{Stopped, TraceLimits};
use crate::evm::trace::Traced;
use crate::pool::PooledTransaction;

/// Return the results of messages as JSON texts, or why the run was stopped. Each message runs on the state
/// after those before it.
pub fn trace_calls(
    site: CallSite<'_>,
    calls: &[(&Message, &HashSet<TraceType>)],
    gas_cap: u64,
    limits: &TraceLimits,
) -> Result<Result<Vec<Vec<u8>>, Stopped>, Error> {
    let work_budget = WorkBudget::new(None, Some(limits.stop.clone()));
    let mut env = CallEnv::new(site, &work_budget)?;
    if calls.len() > 1 {
        env = env.for_many_runs();
    }
    let (mut texts, mut left) = (Vec::with_capacity(calls.len()), limits.clone());
    for (message, types) in calls {
        let text = match trace_one(&mut env, message, types, gas_cap, &left)? {
            Ok(text) => text,
            Err(stopped) => return Ok(Err(stopped)),
        };
        left.size -= text.len();
        texts.push(text);
    }
    Ok(Ok(texts))
}

fn trace_one(
    env: &mut CallEnv<'_>,
    message: &Message,
    types: &HashSet<TraceType>,
    gas_cap: u64,
    limits: &TraceLimits,
) -> Result<Result<Vec<u8>, Stopped>, Error> {
    let mut recorder = TraceRecorder::new(TracingInspectorConfig::from_parity_config(types), limits);
    let gas = message.gas.map_or(gas_cap, |gas| gas.min(gas_cap));
    let (result, _) = env.inspect(message, gas, &mut recorder, |_, _, _| ())?;
    let Some(traces) = recorder.finish() else {
        return Ok(Err(recorder.clock.stopped.unwrap_or(Stopped::Cancelled)));
    };
    if env.state.work_budget.is_stopped() {
        return Ok(Err(Stopped::Cancelled));
    }
    let result = result.map_err(|error| failure(error, message, env.initcode_limit()))?;
    let mut text = Vec::new();
    write(&mut text, &trace_results(traces, &result, types, &env.state.layer)?)?;
    if let Layer::Cached(cache) = &mut env.state.layer {
        commit(cache, result.state);
    }
    Ok(if text.len() > limits.size { Err(Stopped::TooLarge) } else { Ok(text) })
}

/// Return the results of a signed transaction as JSON. It must be valid for the next block.
pub fn trace_raw(
    site: CallSite<'_>,
    encoded: &[u8],
    types: &HashSet<TraceType>,
    limits: &TraceLimits,
) -> Result<Traced, Error> {
    let transaction = PooledTransaction::decode(site.spec, encoded)?;
    let work_budget = WorkBudget::new(None, Some(limits.stop.clone()));
    let mut recorder = TraceRecorder::new(TracingInspectorConfig::from_parity_config(types), limits);
    let environment = evm_environment(site.spec, site.header);
    let mut state = CallState::new(site.layer, &work_budget, site.spec, environment.cfg_env.spec);
    let contracts = precompiles(site.spec, &environment);
    let base_fee = environment.block_env.basefee;
    let transaction = TxEnv::from_recovered_tx(&transaction.envelope, transaction.sender);
    let result = {
        let moved_precompiles = Vec::new();
        let mut evm = build_evm(&mut state, environment, contracts, &moved_precompiles, &mut recorder)?;
        evm.inspect_tx(transaction.clone())
    };
    let Some(traces) = recorder.finish() else {
        return Ok(Traced::Stopped(recorder.clock.stopped.unwrap_or(Stopped::Cancelled)));
    };
    if work_budget.is_stopped() {
        return Ok(Traced::Stopped(Stopped::Cancelled));
    }
    let result = result.map_err(|error| match error {
        EVMError::Transaction(reason) => refusal::of_transaction(&reason, &transaction, base_fee),
        EVMError::Database(error) => error.into(),
        other => Error::internal(other),
    })?;
    let mut text = Vec::new();
    write(&mut text, &trace_results(traces, &result, types, &state.layer)?)?;
    Ok(bounded(text, Ok(()), limits))
}
