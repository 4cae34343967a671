//! Search of a block's traces and transactions by address.

use alloy_primitives::{Address, B256};
use alloy_rpc_types_trace::filter::{TraceFilter, TraceFilterMatcher, TraceFilterMode};
use alloy_rpc_types_trace::parity::{Action, TraceOutput, TransactionTrace};
use revm_inspectors::tracing::TracingInspectorConfig;

use super::{each, localized, rewards, write};
use crate::engine::{Engine, Rows};
use crate::error::Error;
use crate::evm::trace::recorder::RecordedTrace;
use crate::evm::trace::run::{Stopped, TraceLimits};

/// Page of matching traces: the number to skip, and the number to return after that.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    pub skip: usize,
    pub count: usize,
}

/// Matching traces, joined by commas, and the number found, skipped ones included.
#[derive(Debug, Default)]
pub struct Filtered {
    pub text: Vec<u8>,
    pub found: usize,
}

impl Filtered {
    /// Add a matching trace, and return whether the page has room for another.
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

/// Return the matching traces of a block, its rewards included, or why the search was stopped.
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

/// Return the indices in the block of the transactions in which `address` occurs, or why the search was
/// stopped.
///
/// An address occurs as sender or receiver of the transaction or of a call in it, as creator or created
/// contract, or as beneficiary of a self-destruction.
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

/// Return the hash of the transaction that created the contract at `address`, and its creator; None if the
/// block did not create the contract as it is after the block.
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

/// Return whether an outer call failed, so that `inner` was undone.
fn is_undone(inner: &TransactionTrace, traces: &[TransactionTrace]) -> bool {
    traces.iter().any(|outer| outer.error.is_some() && inner.trace_address.starts_with(&outer.trace_address))
}
