//! Access lists and traces.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3::IntoPyObjectExt;

use super::building::{CallBase, RowPair};
use super::messages::{console_tuple, outcome, CancelFlag, Message};
use super::state::State;
use crate::bindings::errors::{guard, guard_collecting_misses};
use crate::engine::Rows;
use crate::error::Error;
use crate::evm::access_list;
use crate::evm::call::{Outcome, Overrides};
use crate::evm::trace::{self, Stopped, TraceCallSite, TraceLimits, TraceOptions, Traced};

#[pyfunction]
#[pyo3(signature = (
    state, header, message, *, gas_cap, nonce=None, cancel=None, state_overrides=None
))]
#[expect(clippy::too_many_arguments, reason = "each is a choice of the caller")]
fn create_access_list(
    py: Python<'_>,
    state: &State,
    header: CallBase,
    message: &Message,
    gas_cap: u64,
    nonce: Option<u64>,
    cancel: Option<PyRef<'_, CancelFlag>>,
    state_overrides: Option<&[u8]>,
) -> PyResult<Py<PyAny>> {
    let overrides = guard(|| Overrides::parse(state_overrides, None))?;
    let (listed, _) = state.run(py, &header, overrides, None, cancel, |site, work_budget| {
        access_list::create_access_list(site, &message.0, nonce, gas_cap, work_budget)
    })?;
    let (gas_used, failure) = match listed.outcome {
        Outcome::Success { gas_used, .. } => (gas_used, None),
        Outcome::Revert { gas_used, .. } => (gas_used, Some("execution reverted".into())),
        Outcome::Halt { gas_used, reason } => (gas_used, Some(reason)),
        interrupted => return outcome(py, interrupted),
    };
    let list = guard(|| serde_json::to_vec(&listed.list).map_err(Error::internal))?;
    (PyBytes::new(py, &list), gas_used, failure).into_py_any(py)
}

/// Return the limits of a trace: seconds for each transaction, and bytes of text in all.
pub fn limits(seconds: f64, size: usize, cancel: &CancelFlag) -> TraceLimits {
    TraceLimits { seconds, size, stop: cancel.0.clone() }
}

fn parse(options: &[u8]) -> PyResult<TraceOptions> {
    serde_json::from_slice(options).map_err(|reason| PyValueError::new_err(format!("options: {reason}")))
}

pub fn traced(py: Python<'_>, traced: Traced) -> PyResult<Py<PyAny>> {
    match traced {
        Traced::Text(text) => PyBytes::new(py, &text).into_py_any(py),
        Traced::UnknownTracer => "unknown".into_py_any(py),
        Traced::Stopped(stopped) => word(stopped).into_py_any(py),
    }
}

/// Return the word for the reason why there is no trace.
pub fn word(stopped: Stopped) -> &'static str {
    match stopped {
        Stopped::Late => "late",
        Stopped::TooLarge => "large",
        Stopped::Cancelled => "cancelled",
    }
}

#[pyfunction]
#[pyo3(signature = (state, rows, options, *, index, seconds, size, cancel))]
#[expect(clippy::too_many_arguments, reason = "each is a choice of the caller")]
fn trace_block(
    py: Python<'_>,
    state: &State,
    rows: RowPair,
    options: &[u8],
    index: Option<usize>,
    seconds: f64,
    size: usize,
    cancel: PyRef<'_, CancelFlag>,
) -> PyResult<Py<PyAny>> {
    let (engine, options, limits) = (&state.0, parse(options)?, limits(seconds, size, &cancel));
    let rows: Rows<'_> = (&rows.0, &rows.1);
    let result = py.detach(|| {
        guard_collecting_misses(|| match index {
            Some(index) => trace::trace_transaction(engine, rows, index, &options, &limits),
            None => trace::trace_block(engine, rows, &options, &limits),
        })
    })?;
    traced(py, result)
}

#[pyfunction]
#[pyo3(signature = (
    state, rows, message, options, *, gas_cap, seconds, size, cancel, transactions=None, state_overrides=None,
    block_overrides=None
))]
#[expect(clippy::too_many_arguments, reason = "each is a choice of the caller")]
fn trace_call(
    py: Python<'_>,
    state: &State,
    rows: RowPair,
    message: &Message,
    options: &[u8],
    gas_cap: u64,
    seconds: f64,
    size: usize,
    cancel: PyRef<'_, CancelFlag>,
    transactions: Option<usize>,
    state_overrides: Option<&[u8]>,
    block_overrides: Option<&[u8]>,
) -> PyResult<Py<PyAny>> {
    let (engine, options, limits) = (&state.0, parse(options)?, limits(seconds, size, &cancel));
    let overrides = guard(|| Overrides::parse(state_overrides, block_overrides))?;
    let rows: Rows<'_> = (&rows.0, &rows.1);
    let result = py.detach(|| {
        guard_collecting_misses(|| {
            let site = TraceCallSite { rows, transactions, overrides, gas_cap };
            trace::trace_call(engine, site, &message.0, &options, &limits)
        })
    })?;
    traced(py, result)
}

#[pyfunction]
#[pyo3(signature = (state, rows, *, cancel))]
fn console_messages(
    py: Python<'_>,
    state: &State,
    rows: RowPair,
    cancel: PyRef<'_, CancelFlag>,
) -> PyResult<Py<PyAny>> {
    let (engine, stop, rows): (_, _, Rows<'_>) = (&state.0, cancel.0.clone(), (&rows.0, &rows.1));
    let found = py.detach(|| guard_collecting_misses(|| trace::console_messages(engine, rows, stop)))?;
    let lists = found.map(|all| all.iter().map(|each| console_tuple(py, each)).collect::<Vec<_>>());
    lists.into_py_any(py)
}

register! {
    functions: create_access_list, trace_block, console_messages, trace_call;
}
