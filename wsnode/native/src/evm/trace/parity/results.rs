//! Output of a run, with the requested traces.

use alloy_primitives::map::HashSet;
use alloy_primitives::B256;
use alloy_rpc_types_trace::parity::{TraceResults, TraceResultsWithTransactionHash, TraceType};
use revm::context::result::ResultAndState;
use revm_inspectors::tracing::TracingInspector;

use crate::error::Error;
use crate::evm::call::Layer;

/// Return the results of a run on the state `before`.
pub fn of(
    traces: TracingInspector,
    result: &ResultAndState,
    types: &HashSet<TraceType>,
    before: &Layer<'_>,
) -> Result<TraceResults, Error> {
    Ok(traces.into_parity_builder().into_trace_results_with_state(result, types, before)?)
}

pub fn named(full_trace: TraceResults, transaction_hash: B256) -> TraceResultsWithTransactionHash {
    TraceResultsWithTransactionHash { full_trace, transaction_hash }
}
