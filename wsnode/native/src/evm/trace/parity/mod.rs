//! Parity's traces of transactions and calls in the forms of erigon, reth and anvil, made by revm-inspectors.

mod calls;
mod rewards;
mod search;
mod summaries;

pub use calls::{trace_calls, trace_raw};
pub use rewards::rewards;
pub use search::{creator, filter, touching, Page};

use std::ops::Range;

use alloy_primitives::map::HashSet;
use alloy_rpc_types_trace::parity::{
    LocalizedTransactionTrace, TraceResults, TraceResultsWithTransactionHash, TraceType,
};
use revm::context::result::ResultAndState;
use revm_inspectors::tracing::{TracingInspector, TracingInspectorConfig};
use serde::{Deserialize, Serialize};

use super::block::Replay;
use super::recorder::RecordedTrace;
use super::run::{Stopped, TraceLimits};
use super::Traced;
use crate::engine::{Engine, Rows};
use crate::error::Error;
use crate::evm::call::{Layer, WorkBudget};

type ShownTrace<'r> = RecordedTrace<&'r ResultAndState>;

/// Requested form of a transaction's traces.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "form", rename_all = "camelCase")]
pub enum TraceForm {
    /// List of its calls.
    Traces,
    /// Call at this path in the tree, or null.
    Trace { path: Vec<usize> },
    /// Output of the transaction, with traces of these types.
    Results { types: HashSet<TraceType> },
    /// Calls in Otterscan's form.
    Entries,
    /// Transfers of ether, creations and self-destructions inside the transaction, in Otterscan's form.
    Operations,
}

pub fn trace_transaction(
    engine: &Engine,
    rows: Rows<'_>,
    index: usize,
    form: &TraceForm,
    limits: &TraceLimits,
) -> Result<Traced, Error> {
    let mut text = Vec::new();
    let config = config_of(form);
    let done = each(engine, rows, Some(index), config, limits, |replay, index, recorded| {
        let RecordedTrace { traces, result } = recorded;
        match form {
            TraceForm::Traces => write(&mut text, &localized(traces, replay, index).collect::<Vec<_>>())?,
            TraceForm::Trace { path } => {
                let found = localized(traces, replay, index).find(|found| found.trace.trace_address == *path);
                write(&mut text, &found)?;
            }
            TraceForm::Results { types } => {
                write(&mut text, &trace_results(traces, result, types, replay.layer())?)?;
            }
            TraceForm::Entries => write(&mut text, &summaries::entries(traces))?,
            TraceForm::Operations => write(&mut text, &summaries::operations(traces))?,
        }
        Ok(true)
    })?;
    Ok(bounded(text, done, limits))
}

/// Return the outputs and traces of all transactions of a block, each with its transaction's hash.
pub fn replay_block(
    engine: &Engine,
    rows: Rows<'_>,
    types: &HashSet<TraceType>,
    limits: &TraceLimits,
) -> Result<Traced, Error> {
    let mut text = vec![b'['];
    let config = TracingInspectorConfig::from_parity_config(types);
    let done =
        each(engine, rows, None, config, limits, |replay, index, RecordedTrace { traces, result }| {
            if text.len() > 1 {
                text.push(b',');
            }
            let full_trace = trace_results(traces, result, types, replay.layer())?;
            let transaction_hash = replay.hash(index);
            write(&mut text, &TraceResultsWithTransactionHash { full_trace, transaction_hash })?;
            Ok(text.len() <= limits.size)
        })?;
    text.push(b']');
    Ok(bounded(text, done, limits))
}

/// Run a block's transactions and call `visit` with each, until `visit` returns false. With `only`, run those
/// up to that index, and visit it alone.
fn each(
    engine: &Engine,
    rows: Rows<'_>,
    only: Option<usize>,
    config: TracingInspectorConfig,
    limits: &TraceLimits,
    mut visit: impl FnMut(&Replay<'_>, usize, ShownTrace<'_>) -> Result<bool, Error>,
) -> Result<Result<(), Stopped>, Error> {
    let work_budget = WorkBudget::new(None, Some(limits.stop.clone()));
    let mut replay = Replay::new(&engine.spec, &engine.reader, rows, &work_budget)?;
    let shown: Range<usize> = only.map_or(0..replay.len(), |index| index..index + 1);
    for index in 0..shown.end {
        if !shown.contains(&index) {
            if !replay.skip(index)? {
                return Ok(Err(Stopped::Cancelled));
            }
            continue;
        }
        let RecordedTrace { traces, result } = match replay.record(index, config, limits)? {
            Ok(recorded) => recorded,
            Err(stopped) => return Ok(Err(stopped)),
        };
        if !visit(&replay, index, RecordedTrace { traces, result: &result })? {
            return Ok(Ok(()));
        }
        replay.keep(result);
    }
    Ok(Ok(()))
}

fn config_of(form: &TraceForm) -> TracingInspectorConfig {
    match form {
        TraceForm::Results { types } => TracingInspectorConfig::from_parity_config(types),
        _ => TracingInspectorConfig::default_parity(),
    }
}

fn localized(
    traces: TracingInspector,
    replay: &Replay<'_>,
    index: usize,
) -> impl Iterator<Item = LocalizedTransactionTrace> {
    traces.into_parity_builder().into_localized_transaction_traces_iter(replay.transaction_info(index))
}

fn write(text: &mut Vec<u8>, value: &impl Serialize) -> Result<(), Error> {
    serde_json::to_writer(text, value).map_err(Error::internal)
}

/// Return the text, or, in place of it, that the run was stopped or the text is too long.
fn bounded(text: Vec<u8>, done: Result<(), Stopped>, limits: &TraceLimits) -> Traced {
    match done {
        Err(stopped) => Traced::Stopped(stopped),
        Ok(()) if text.len() > limits.size => Traced::Stopped(Stopped::TooLarge),
        Ok(()) => Traced::Text(text),
    }
}

/// Return the results of a run on the state `before` in Parity's form: the output and the requested traces.
fn trace_results(
    traces: TracingInspector,
    result: &ResultAndState,
    types: &HashSet<TraceType>,
    before: &Layer<'_>,
) -> Result<TraceResults, Error> {
    Ok(traces.into_parity_builder().into_trace_results_with_state(result, types, before)?)
}
