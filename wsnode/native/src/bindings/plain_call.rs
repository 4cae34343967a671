//! `PlainCall`: most calls from the text of their parameters to the text of their result.

use alloy_primitives::TxKind;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::errors::guard;
use super::messages::{outcome, Message};
use super::state::State;
use crate::build::Base;
use crate::call::{self, plain, Estimate, Outcome, Overrides, Place, Watch};
use crate::error::Error;
use crate::json;

/// `[call, block]`, each member in its usual form.
#[pyclass(frozen, module = "wsnode._native")]
pub struct PlainCall(plain::PlainCall);

#[pymethods]
impl PlainCall {
    /// What is called; nothing if a contract is created.
    #[getter]
    fn to<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        match self.0.message.to {
            TxKind::Call(to) => Some(PyBytes::new(py, to.as_slice())),
            TxKind::Create => None,
        }
    }

    /// The gas that the caller names.
    #[getter]
    fn gas(&self) -> Option<u64> {
        self.0.message.gas
    }

    /// The number of the block; nothing for the latest.
    #[getter]
    fn block(&self) -> Option<u64> {
        self.0.block
    }

    /// The call itself.
    #[getter]
    fn message(&self) -> Message {
        Message(self.0.message.clone())
    }
}

/// The call that the parameters describe, or nothing if any part of them is unusual, be it right or wrong.
#[pyfunction]
fn read_plain_call(params: &[u8]) -> Option<PlainCall> {
    plain::read(params).map(PlainCall)
}

/// What a call returns, as JSON, or how else it ended; it may use `gas_blocks` times its block's gas limit.
#[pyfunction]
#[pyo3(signature = (state, header, call, gas_blocks, budget, /))]
fn run_plain_call(
    py: Python<'_>,
    state: &State,
    header: PyBackedBytes,
    call: &PlainCall,
    gas_blocks: u64,
    budget: u64,
) -> PyResult<Py<PyAny>> {
    let message = &call.0.message;
    let result = at_block(state, &header, budget, |place, watch| {
        let gas_cap = gas_cap(&place, gas_blocks);
        call::call(place, message, gas_cap, watch)
    })?;
    match result {
        Outcome::Success { output, .. } => {
            let mut text = json::Writer::new(Vec::with_capacity(4 + 2 * output.len()));
            text.fixed(b"\"0x");
            text.bytes(&output);
            text.fixed(b"\"");
            Ok(PyBytes::new(py, &text.into_text()).into())
        }
        other => outcome(py, other),
    }
}

/// The gas that a call needs, as JSON, or how it fails.
#[pyfunction]
#[pyo3(signature = (state, header, call, gas_blocks, budget, /))]
fn estimate_plain_call(
    py: Python<'_>,
    state: &State,
    header: PyBackedBytes,
    call: &PlainCall,
    gas_blocks: u64,
    budget: u64,
) -> PyResult<Py<PyAny>> {
    let message = &call.0.message;
    let result = at_block(state, &header, budget, |place, watch| {
        let gas_cap = gas_cap(&place, gas_blocks);
        call::estimate(place, message, gas_cap, watch)
    })?;
    match result {
        Estimate::Gas(gas) => Ok(PyBytes::new(py, format!("\"{gas:#x}\"").as_bytes()).into()),
        Estimate::Failed(failure) => outcome(py, failure),
    }
}

fn at_block<T>(
    state: &State,
    header: &[u8],
    budget: u64,
    work: impl FnOnce(Place<'_>, &Watch) -> Result<T, Error>,
) -> PyResult<T> {
    guard(|| {
        let watch = Watch::new(Some(budget), None);
        state.0.at_block(Base::Row(header), Overrides::default(), |place| work(place, &watch))
    })
}

/// Development chains like a gas limit of 2^63 - 1.
fn gas_cap(place: &Place<'_>, gas_blocks: u64) -> u64 {
    place.header.gas_limit.saturating_mul(gas_blocks).min(i64::MAX as u64)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PlainCall>()?;
    module.add_function(wrap_pyfunction!(read_plain_call, module)?)?;
    module.add_function(wrap_pyfunction!(run_plain_call, module)?)?;
    module.add_function(wrap_pyfunction!(estimate_plain_call, module)?)
}
