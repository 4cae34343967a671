//! Traces of transactions and calls, by step or by call, in the forms of geth's tracers.

mod block;
mod calls;
mod fault;
mod flat;
mod options;
pub mod parity;
mod prestate;
mod reading;
mod recorder;
mod run;
mod selectors;
mod steps;
mod storage_range;
mod tracer;

pub use options::TraceOptions;
pub use run::{Stopped, TraceLimits};
pub use storage_range::{storage_range, SlotRange};

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use alloy_eips::BlockNumHash;
use alloy_primitives::{Bytes, U256};

use crate::chain::rows::HeaderRow;
use crate::engine::{Engine, Rows};
use crate::error::Error;
use crate::evm::call::{failure, CallEnv, CallSite, ConsoleMessages, Layer, Message, Overrides, WorkBudget};
use crate::evm::chain_spec::ChainSpec;
use crate::json::traces;
use block::Replay;
use flat::Position;
use run::TracerRun;
use tracer::{Ended, TraceContext, Tracer};

/// Outcome of a trace: its JSON text, that the tracer is unknown, or the reason why the run was ended early.
#[derive(Debug)]
pub enum Traced {
    Text(Vec<u8>),
    UnknownTracer,
    Stopped(Stopped),
}

/// Write byte strings as a JSON array of hex strings.
pub fn list_of_bytes(text: &mut Vec<u8>, items: &[Bytes]) {
    traces::list(text, items, |text, item| traces::data(text, item));
}

pub fn trace_transaction(
    engine: &Engine,
    rows: Rows<'_>,
    index: usize,
    options: &TraceOptions,
    limits: &TraceLimits,
) -> Result<Traced, Error> {
    let work_budget = WorkBudget::new(None, Some(limits.stop.clone()));
    let mut replay = Replay::new(&engine.spec, &engine.reader, rows, &work_budget)?;
    match replay.skip_to(index)? {
        true => replay.trace(index, options, limits),
        false => Ok(Traced::Stopped(Stopped::Cancelled)),
    }
}

/// Trace all transactions of a block, each with its hash.
pub fn trace_block(
    engine: &Engine,
    rows: Rows<'_>,
    options: &TraceOptions,
    limits: &TraceLimits,
) -> Result<Traced, Error> {
    let work_budget = WorkBudget::new(None, Some(limits.stop.clone()));
    let mut replay = Replay::new(&engine.spec, &engine.reader, rows, &work_budget)?;
    let mut text = vec![b'['];
    for index in 0..replay.len() {
        if index > 0 {
            text.push(b',');
        }
        text.extend_from_slice(format!("{{\"txHash\":\"{:#x}\",\"result\":", replay.hash(index)).as_bytes());
        match replay.trace(index, options, limits)? {
            Traced::Text(trace) => text.extend_from_slice(&trace),
            other => return Ok(other),
        }
        text.push(b'}');
        if text.len() > limits.size {
            return Ok(Traced::Stopped(Stopped::TooLarge));
        }
    }
    text.push(b']');
    Ok(Traced::Text(text))
}

/// Return the console messages of each transaction of a block, or None after a cancellation.
pub fn console_messages(
    engine: &Engine,
    rows: Rows<'_>,
    stop: Arc<AtomicBool>,
) -> Result<Option<Vec<ConsoleMessages>>, Error> {
    let work_budget = WorkBudget::new(None, Some(stop));
    let mut replay = Replay::new(&engine.spec, &engine.reader, rows, &work_budget)?;
    let mut console_messages = Vec::with_capacity(replay.len());
    for index in 0..replay.len() {
        if !replay.skip(index)? {
            return Ok(None);
        }
        console_messages.push(work_budget.take_console_messages());
    }
    Ok(Some(console_messages))
}

/// Place of a traced call: after a block, or after a number of its transactions.
#[derive(Debug)]
pub struct TraceCallSite<'a> {
    pub rows: Rows<'a>,
    pub transactions: Option<usize>,
    pub overrides: Overrides,
    pub gas_cap: u64,
}

pub fn trace_call(
    engine: &Engine,
    site: TraceCallSite<'_>,
    message: &Message,
    options: &TraceOptions,
    limits: &TraceLimits,
) -> Result<Traced, Error> {
    let work_budget = WorkBudget::new(None, Some(limits.stop.clone()));
    let row = HeaderRow::new(site.rows.0)?;
    let header = row.header()?;
    let layer = match site.transactions {
        None => Layer::Plain(engine.reader.at(BlockNumHash::new(header.number, *row.hash()))?),
        Some(count) => {
            let mut replay = Replay::new(&engine.spec, &engine.reader, site.rows, &work_budget)?;
            if !replay.skip_to(count)? {
                return Ok(Traced::Stopped(Stopped::Cancelled));
            }
            replay.into_layer()
        }
    };
    let spec: &ChainSpec = &engine.spec;
    let gas = message.gas.map_or(site.gas_cap, |gas| gas.min(site.gas_cap));
    let next = header.number.saturating_add(1);
    let is_next = site.overrides.number().is_some_and(|number| number == U256::from(next));
    let mut env =
        CallEnv::new(CallSite { spec, layer, header: &header, overrides: site.overrides }, &work_budget)?;
    if is_next {
        // BLOCKHASH must return the hash of the block before the overridden number. A contract that finds
        // none could detect the trace and act differently.
        env.state.named_below = next;
    }
    trace_env(env, message, gas, options, limits)
}

fn trace_env(
    mut env: CallEnv<'_>,
    message: &Message,
    gas: u64,
    options: &TraceOptions,
    limits: &TraceLimits,
) -> Result<Traced, Error> {
    let surroundings = surroundings_of(&env);
    let Some(tracer) = Tracer::new(options, &surroundings) else {
        return Ok(Traced::UnknownTracer);
    };
    let mut run = TracerRun::new(tracer, limits, surroundings.precompiles);
    let (result, transaction) = env.inspect(message, gas, &mut run, |run, state, transaction| {
        run.tracer.prepare(state, transaction, surroundings.beneficiary);
    })?;
    if let Some(stopped) = run.clock.stopped {
        return Ok(Traced::Stopped(stopped));
    }
    if env.state.work_budget.is_stopped() {
        return Ok(Traced::Stopped(Stopped::Cancelled));
    }
    let result = result.map_err(|error| failure(error, message, env.initcode_limit()))?;
    let mut text = Vec::new();
    let ended = Ended { transaction: &transaction, result: &result };
    run.tracer.finish(&mut text, &mut env.state, &surroundings, &ended);
    Ok(Traced::Text(text))
}

fn surroundings_of(env: &CallEnv<'_>) -> TraceContext {
    TraceContext {
        rules: env.environment.cfg_env.spec,
        precompiles: env.precompiles,
        beneficiary: env.environment.block_env.beneficiary,
        // A call has no position in a block.
        position: Position::default(),
        first_log: 0,
    }
}
