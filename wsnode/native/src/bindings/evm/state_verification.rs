//! Checks of a state: checksums of rows, tries against their hashes, and earlier states against their roots.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::state::State;
use crate::bindings::errors::guard;
use crate::state::{StateError, Watcher};

/// Entries of a table between two calls of Python.
const STRIDE: u64 = 4096;

type RootBytes<'py> = Bound<'py, PyBytes>;

/// Caller of Python's functions for progress and faults.
struct Caller {
    progress: Py<PyAny>,
    fault: Py<PyAny>,
    /// Exception that Python raised. It ends the inspection.
    raised: Option<PyErr>,
}

impl Caller {
    fn call(
        &mut self,
        work: impl FnOnce(Python<'_>, &Self) -> PyResult<Py<PyAny>>,
    ) -> Result<(), StateError> {
        if self.raised.is_none() {
            self.raised = Python::attach(|py| work(py, self)).err();
        }
        self.raised.is_none().then_some(()).ok_or(StateError::Cancelled)
    }
}

impl Watcher for Caller {
    fn progress(&mut self, table: &'static str, done: u64, of: u64) -> Result<(), StateError> {
        if !done.is_multiple_of(STRIDE) && done < of {
            return Ok(());
        }
        self.call(|py, this| this.progress.call1(py, (table, done, of)))
    }

    fn fault(&mut self, table: &'static str, text: String) {
        // `call` keeps an exception of Python, which ends the inspection at its next step.
        let _ = self.call(|py, this| this.fault.call1(py, (table, text)));
    }
}

#[pyfunction]
#[pyo3(signature = (state, progress, fault, /))]
fn inspect_state(
    py: Python<'_>,
    state: &State,
    progress: Py<PyAny>,
    fault: Py<PyAny>,
) -> PyResult<(u64, [u64; 4])> {
    if state.0.reader.base().is_some() || state.0.reader.block_states().is_some() {
        return Err(PyValueError::new_err("a state known by proofs has no whole"));
    }
    let mut caller = Caller { progress, fault, raised: None };
    let inspected = py.detach(|| guard(|| Ok(state.0.reader.inspect(&mut caller)?)));
    if let Some(raised) = caller.raised {
        return Err(raised);
    }
    let found = inspected?;
    Ok((found.head.number, [found.accounts, found.slots, found.nodes, found.codes]))
}

#[pyfunction]
#[pyo3(signature = (state, first, nodes, progress, fault, /))]
fn inspect_past(
    py: Python<'_>,
    state: &State,
    first: u64,
    nodes: usize,
    progress: Py<PyAny>,
    fault: Py<PyAny>,
) -> PyResult<u64> {
    let mut caller = Caller { progress, fault, raised: None };
    let reached = py.detach(|| guard(|| Ok(state.0.reader.inspect_past(first, nodes, &mut caller)?)));
    caller.raised.map_or(reached, Err)
}

#[pyfunction]
#[pyo3(signature = (state, first, limit, /))]
fn state_blocks<'py>(
    py: Python<'py>,
    state: &State,
    first: u64,
    limit: usize,
) -> PyResult<Vec<(u64, RootBytes<'py>, RootBytes<'py>, RootBytes<'py>)>> {
    let blocks = py.detach(|| guard(|| Ok(state.0.reader.blocks(first, limit)?)))?;
    let bytes = |hash: alloy_primitives::B256| PyBytes::new(py, hash.as_slice());
    let tuple = |(block, own): (crate::state::Head, _)| {
        (block.number, bytes(block.hash), bytes(block.state_root), bytes(own))
    };
    Ok(blocks.into_iter().map(tuple).collect())
}

register! {
    functions: inspect_state, inspect_past, state_blocks;
}
