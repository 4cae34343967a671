//! Usual calls, from the text of their parameters to the text of their result.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3::IntoPyObjectExt;

use crate::bindings::errors::guard_collecting_misses;
use crate::bindings::evm::messages::outcome;
use crate::bindings::evm::state::State;
use crate::error::Error;
use crate::evm::build::Base;
use crate::evm::call::{self, CallSite, ConsoleMessages, Estimate, Message, Outcome, WorkBudget};
use crate::json;
use crate::wire::parameters;
use crate::wire::parameters::call::CallText;

/// Number and header row of the block that a call may name.
type NamedBlock<'a> = (u64, &'a [u8]);

#[pyfunction]
#[pyo3(signature = (state, number, header, params, gas_blocks, budget, /))]
fn run_call_text(
    py: Python<'_>,
    state: &State,
    number: u64,
    header: &[u8],
    params: &[u8],
    gas_blocks: u64,
    budget: u64,
) -> PyResult<Option<Py<PyAny>>> {
    let run = |message: &Message, site: CallSite<'_>, work_budget: &WorkBudget| {
        let gas_cap = call::gas_cap(site.header.gas_limit, gas_blocks);
        call::call(site, message, gas_cap, work_budget)
    };
    answer(py, state, (number, header), params, budget, run, |result, console_messages| {
        state.keep_console_messages(&result, console_messages);
        match result {
            Outcome::Success { output, .. } => {
                let mut text = json::Writer::new(Vec::with_capacity(4 + 2 * output.len()));
                text.quoted_bytes(&output);
                Ok(PyBytes::new(py, &text.into_text()).into())
            }
            other => outcome(py, other),
        }
    })
}

#[pyfunction]
#[pyo3(signature = (state, number, header, params, gas_blocks, budget, /))]
fn estimate_call_text(
    py: Python<'_>,
    state: &State,
    number: u64,
    header: &[u8],
    params: &[u8],
    gas_blocks: u64,
    budget: u64,
) -> PyResult<Option<Py<PyAny>>> {
    let run = |message: &Message, site: CallSite<'_>, work_budget: &WorkBudget| {
        let gas_cap = call::gas_cap(site.header.gas_limit, gas_blocks);
        call::estimate(site, message, gas_cap, work_budget)
    };
    answer(py, state, (number, header), params, budget, run, |result, console_messages| match result {
        Estimate::Gas(gas) => Ok(PyBytes::new(py, format!("\"{gas:#x}\"").as_bytes()).into()),
        Estimate::Failed(failure) => {
            state.keep_console_messages(&failure, console_messages);
            outcome(py, failure)
        }
    })
}

fn answer<T>(
    py: Python<'_>,
    state: &State,
    (number, header): NamedBlock<'_>,
    params: &[u8],
    budget: u64,
    run: impl FnOnce(&Message, CallSite<'_>, &WorkBudget) -> Result<T, Error>,
    render: impl FnOnce(T, ConsoleMessages) -> PyResult<Py<PyAny>>,
) -> PyResult<Option<Py<PyAny>>> {
    let Some(CallText { message, block, overrides }) = parameters::call::read(params) else {
        return Ok(None);
    };
    if let Some(another) = block.filter(|block| *block != number) {
        return another.into_py_any(py).map(Some);
    }
    let (result, console_messages) = guard_collecting_misses(|| {
        let work_budget = WorkBudget::new(Some(budget), None);
        let result =
            state.0.at_block(Base::Row(header), overrides, |site| run(&message, site, &work_budget))?;
        Ok((result, work_budget.take_console_messages()))
    })?;
    render(result, console_messages).map(Some)
}

register! {
    functions: run_call_text, estimate_call_text;
}
