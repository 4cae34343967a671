//! Which of a block's traces, or of its transactions, have to do with some addresses.

use alloy_primitives::{Address, B256};
use alloy_rpc_types_trace::filter::{TraceFilter, TraceFilterMatcher, TraceFilterMode};
use alloy_rpc_types_trace::parity::{Action, TraceOutput, TransactionTrace};
use revm_inspectors::tracing::TracingInspectorConfig;

use super::{each, localized, rewards, write};
use crate::engine::{Engine, Rows};
use crate::error::Error;
use crate::evm::trace::recorder::RecordedTrace;
use crate::evm::trace::run::{Stopped, TraceLimits};

/// How many of the traces that match are passed over, and how many are wanted then.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    pub skip: usize,
    pub count: usize,
}

/// Traces that match, joined by commas, and how many were found, those passed over included.
#[derive(Debug, Default)]
pub struct Filtered {
    pub text: Vec<u8>,
    pub found: usize,
}

impl Filtered {
    /// Look at one more trace, and say whether there is room for others.
    fn add(&mut self, page: Page, trace: &impl serde::Serialize) -> Result<bool, Error> {
        self.found += 1;
        if self.found > page.skip && page.count > 0 {
            if !self.text.is_empty() {
                self.text.push(b',');
            }
            write(&mut self.text, trace)?;
        }
        Ok(self.has_room(page))
    }

    fn has_room(&self, page: Page) -> bool {
        self.found < page.skip.saturating_add(page.count)
    }
}

/// The traces of a block that match, its rewards among them.
pub fn filter(
    engine: &Engine,
    rows: Rows<'_>,
    matcher: &TraceFilterMatcher,
    page: Page,
    limits: &TraceLimits,
) -> Result<Result<Filtered, Stopped>, Error> {
    let mut filtered = Filtered::default();
    let config = TracingInspectorConfig::default_parity();
    let done = each(engine, rows, None, config, limits, |replay, index, RecordedTrace { traces, .. }| {
        for trace in localized(traces, replay, index).filter(|trace| matcher.matches(&trace.trace)) {
            if !filtered.add(page, &trace)? {
                break;
            }
        }
        Ok(filtered.has_room(page) && filtered.text.len() <= limits.size)
    })?;
    for trace in rewards::traces(&engine.spec, rows)? {
        if filtered.has_room(page) && matcher.matches(&trace.trace) {
            filtered.add(page, &trace)?;
        }
    }
    Ok(match done {
        Err(stopped) => Err(stopped),
        Ok(()) if filtered.text.len() > limits.size => Err(Stopped::TooLarge),
        Ok(()) => Ok(filtered),
    })
}

/// The indices of the transactions that `address` sends or receives, or in which it calls, is called, creates, is
/// created, or gets what a destroyed contract had.
pub fn touching(
    engine: &Engine,
    rows: Rows<'_>,
    address: Address,
    limits: &TraceLimits,
) -> Result<Result<Vec<usize>, Stopped>, Error> {
    let (from_address, to_address) = (vec![address], vec![address]);
    let mode = TraceFilterMode::Union;
    let matcher = TraceFilter { from_address, to_address, mode, ..TraceFilter::default() }.matcher();
    let mut found = Vec::new();
    let config = TracingInspectorConfig::default_parity();
    let done = each(engine, rows, None, config, limits, |_, index, RecordedTrace { traces, .. }| {
        if traces.into_parity_builder().into_transaction_traces_iter().any(|trace| matcher.matches(&trace)) {
            found.push(index);
        }
        Ok(true)
    })?;
    Ok(done.map(|()| found))
}

/// The transaction of a block that created the contract at `address` as it is after the block, and what created it.
pub fn creator(
    engine: &Engine,
    rows: Rows<'_>,
    address: Address,
    limits: &TraceLimits,
) -> Result<Result<Option<(B256, Address)>, Stopped>, Error> {
    let mut found = None;
    let config = TracingInspectorConfig::default_parity();
    let done = each(engine, rows, None, config, limits, |replay, index, RecordedTrace { traces, .. }| {
        let traces: Vec<_> = traces.into_parity_builder().into_transaction_traces_iter().collect();
        let creation =
            traces.iter().rfind(|trace| created(trace) == Some(address) && !is_undone(trace, &traces));
        if let Some(Action::Create(action)) = creation.map(|trace| &trace.action) {
            found = Some((replay.hash(index), action.from));
        }
        Ok(true)
    })?;
    Ok(done.map(|()| found))
}

fn created(trace: &TransactionTrace) -> Option<Address> {
    match (&trace.error, &trace.result) {
        (None, Some(TraceOutput::Create(output))) => Some(output.address),
        _ => None,
    }
}

/// Whether a call failed inside of which this happened.
fn is_undone(inner: &TransactionTrace, traces: &[TransactionTrace]) -> bool {
    traces.iter().any(|outer| outer.error.is_some() && inner.trace_address.starts_with(&outer.trace_address))
}
