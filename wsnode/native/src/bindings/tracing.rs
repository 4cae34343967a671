//! Access lists and traces.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use pyo3::IntoPyObjectExt;

use super::errors::guard;
use super::messages::{outcome, CancelFlag, Message};
use super::state::State;
use crate::access_list;
use crate::call::{Outcome, Overrides, Watch};
use crate::error::Error;

/// The access list of a message as JSON, the gas that it uses with it, and why it fails if it does.
#[pyfunction]
#[pyo3(signature = (
    state, header, message, *, gas_cap, nonce=None, pending=false, cancel=None, state_overrides=None
))]
#[expect(clippy::too_many_arguments, reason = "each is a choice of the caller")]
fn create_access_list(
    py: Python<'_>,
    state: &State,
    header: PyBackedBytes,
    message: PyRef<'_, Message>,
    gas_cap: u64,
    nonce: Option<u64>,
    pending: bool,
    cancel: Option<PyRef<'_, CancelFlag>>,
    state_overrides: Option<&[u8]>,
) -> PyResult<Py<PyAny>> {
    let overrides = guard(|| Overrides::parse(state_overrides, None))?;
    let (engine, message, cancel) = (&state.0, &message.0, cancel.map(|flag| flag.0.clone()));
    let listed = py.detach(|| {
        guard(|| {
            let watch = Watch::new(None, cancel);
            engine.at_block(&header, pending, overrides, |place| {
                access_list::create_access_list(place, message, nonce, gas_cap, &watch)
            })
        })
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

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(create_access_list, module)?)
}
