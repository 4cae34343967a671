//! Traces in Parity's forms.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use pyo3::IntoPyObjectExt;
use serde::de::DeserializeOwned;

use super::building::{CallBase, RowPair};
use super::messages::{CancelFlag, Message};
use super::spec::ChainSpec;
use super::state::State;
use super::tracing::{limits, traced, word};
use crate::bindings::errors::{guard, guard_collecting_misses};
use crate::bindings::numbers::{address, Number};
use crate::engine::Rows;
use crate::evm::call::Overrides;
use crate::evm::trace::parity::{self, Page, TraceForm};

fn parse<T: DeserializeOwned>(text: &[u8]) -> PyResult<T> {
    serde_json::from_slice(text).map_err(|reason| PyValueError::new_err(format!("options: {reason}")))
}

#[pyfunction]
#[pyo3(signature = (state, rows, form, *, index, seconds, size, cancel))]
#[expect(clippy::too_many_arguments, reason = "each is a choice of the caller")]
fn parity_transaction(
    py: Python<'_>,
    state: &State,
    rows: RowPair,
    form: &[u8],
    index: usize,
    seconds: f64,
    size: usize,
    cancel: PyRef<'_, CancelFlag>,
) -> PyResult<Py<PyAny>> {
    let (engine, form, limits) = (&state.0, parse::<TraceForm>(form)?, limits(seconds, size, &cancel));
    let rows: Rows<'_> = (&rows.0, &rows.1);
    let result = py.detach(|| guard(|| parity::trace_transaction(engine, rows, index, &form, &limits)))?;
    traced(py, result)
}

#[pyfunction]
#[pyo3(signature = (state, rows, types, *, seconds, size, cancel))]
fn parity_block(
    py: Python<'_>,
    state: &State,
    rows: RowPair,
    types: &[u8],
    seconds: f64,
    size: usize,
    cancel: PyRef<'_, CancelFlag>,
) -> PyResult<Py<PyAny>> {
    let (engine, types, limits) = (&state.0, parse(types)?, limits(seconds, size, &cancel));
    let rows: Rows<'_> = (&rows.0, &rows.1);
    let result = py.detach(|| guard(|| parity::replay_block(engine, rows, &types, &limits)))?;
    traced(py, result)
}

#[pyfunction]
#[pyo3(signature = (state, rows, filter, *, skip, count, seconds, size, cancel))]
#[expect(clippy::too_many_arguments, reason = "each is a choice of the caller")]
fn parity_filter(
    py: Python<'_>,
    state: &State,
    rows: RowPair,
    filter: &[u8],
    skip: usize,
    count: usize,
    seconds: f64,
    size: usize,
    cancel: PyRef<'_, CancelFlag>,
) -> PyResult<Py<PyAny>> {
    let filter: alloy_rpc_types_trace::filter::TraceFilter = parse(filter)?;
    let (engine, limits, page) = (&state.0, limits(seconds, size, &cancel), Page { skip, count });
    let rows: Rows<'_> = (&rows.0, &rows.1);
    let result = py.detach(|| guard(|| parity::filter(engine, rows, &filter.matcher(), page, &limits)))?;
    match result {
        Ok(filtered) => (PyBytes::new(py, &filtered.text), filtered.found).into_py_any(py),
        Err(stopped) => word(stopped).into_py_any(py),
    }
}

#[pyfunction]
#[pyo3(signature = (state, rows, account, *, seconds, size, cancel))]
fn parity_touching(
    py: Python<'_>,
    state: &State,
    rows: RowPair,
    account: &[u8],
    seconds: f64,
    size: usize,
    cancel: PyRef<'_, CancelFlag>,
) -> PyResult<Py<PyAny>> {
    let account = address("account", account)?;
    let (engine, limits) = (&state.0, limits(seconds, size, &cancel));
    let rows: Rows<'_> = (&rows.0, &rows.1);
    match py.detach(|| guard(|| parity::touching(engine, rows, account, &limits)))? {
        Ok(found) => found.into_py_any(py),
        Err(stopped) => word(stopped).into_py_any(py),
    }
}

#[pyfunction]
#[pyo3(signature = (state, rows, account, *, seconds, size, cancel))]
fn parity_creator(
    py: Python<'_>,
    state: &State,
    rows: RowPair,
    account: &[u8],
    seconds: f64,
    size: usize,
    cancel: PyRef<'_, CancelFlag>,
) -> PyResult<Py<PyAny>> {
    let account = address("account", account)?;
    let (engine, limits) = (&state.0, limits(seconds, size, &cancel));
    let rows: Rows<'_> = (&rows.0, &rows.1);
    match py.detach(|| guard(|| parity::creator(engine, rows, account, &limits)))? {
        Ok(Some((hash, creator))) => {
            (PyBytes::new(py, hash.as_slice()), PyBytes::new(py, creator.as_slice())).into_py_any(py)
        }
        Ok(None) => Ok(py.None()),
        Err(stopped) => word(stopped).into_py_any(py),
    }
}

#[pyfunction]
fn block_rewards(spec: &ChainSpec, rows: RowPair) -> PyResult<Vec<Number>> {
    let paid = guard(|| parity::rewards(&spec.0, (&rows.0, &rows.1)))?;
    Ok(paid.into_iter().map(|reward| Number(reward.value)).collect())
}

type TracedMessage<'py> = (PyRef<'py, Message>, PyBackedBytes);

#[pyfunction]
#[pyo3(signature = (
    state, header, calls, *, gas_cap, seconds, size, cancel, state_overrides=None, block_overrides=None
))]
#[expect(clippy::too_many_arguments, reason = "each is a choice of the caller")]
fn parity_calls(
    py: Python<'_>,
    state: &State,
    header: CallBase,
    calls: Vec<TracedMessage<'_>>,
    gas_cap: u64,
    seconds: f64,
    size: usize,
    cancel: PyRef<'_, CancelFlag>,
    state_overrides: Option<&[u8]>,
    block_overrides: Option<&[u8]>,
) -> PyResult<Py<PyAny>> {
    let overrides = guard(|| Overrides::parse(state_overrides, block_overrides))?;
    let (engine, limits) = (&state.0, limits(seconds, size, &cancel));
    let read = |(message, types): &TracedMessage<'_>| Ok((message.0.clone(), parse(types)?));
    let calls: Vec<_> = calls.iter().map(read).collect::<PyResult<_>>()?;
    let result = py.detach(|| {
        guard_collecting_misses(|| {
            let calls: Vec<_> = calls.iter().map(|(message, types)| (message, types)).collect();
            engine.at_block(header.base(), overrides, |site| {
                parity::trace_calls(site, &calls, gas_cap, &limits)
            })
        })
    })?;
    match result {
        Ok(texts) => {
            let texts: Vec<_> = texts.iter().map(|text| PyBytes::new(py, text)).collect();
            texts.into_py_any(py)
        }
        Err(stopped) => word(stopped).into_py_any(py),
    }
}

#[pyfunction]
#[pyo3(signature = (state, header, encoded, types, *, seconds, size, cancel))]
#[expect(clippy::too_many_arguments, reason = "each is a choice of the caller")]
fn parity_raw(
    py: Python<'_>,
    state: &State,
    header: CallBase,
    encoded: PyBackedBytes,
    types: &[u8],
    seconds: f64,
    size: usize,
    cancel: PyRef<'_, CancelFlag>,
) -> PyResult<Py<PyAny>> {
    let (engine, types, limits) = (&state.0, parse(types)?, limits(seconds, size, &cancel));
    let result = py.detach(|| {
        guard_collecting_misses(|| {
            engine.at_block(header.base(), Overrides::default(), |site| {
                parity::trace_raw(site, &encoded, &types, &limits)
            })
        })
    })?;
    traced(py, result)
}

register! {
    functions: parity_transaction, parity_block, parity_filter, parity_touching, parity_creator, parity_calls,
        parity_raw, block_rewards;
}
