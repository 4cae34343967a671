//! `Message`, `CancelFlag`, and the outcomes of runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use alloy_primitives::{Bytes, TxKind};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::de::DeserializeOwned;

use crate::bindings::numbers::{address, hash, Number};
use crate::evm::call;

/// Message to run. Absent members have geth's defaults.
#[pyclass(frozen, module = "wsnode._native.evm")]
pub struct Message(pub call::Message);

#[pymethods]
impl Message {
    #[new]
    #[pyo3(signature = (
        *, sender, to=None, gas=None, gas_price=None, max_fee=None, max_priority_fee=None, max_blob_fee=None,
        value=None, input=None, nonce=None, access_list=None, blob_hashes=None, authorizations=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "a transaction has as many members")]
    fn new(
        sender: &[u8],
        to: Option<&[u8]>,
        gas: Option<u64>,
        gas_price: Option<Number>,
        max_fee: Option<Number>,
        max_priority_fee: Option<Number>,
        max_blob_fee: Option<Number>,
        value: Option<Number>,
        input: Option<&[u8]>,
        nonce: Option<u64>,
        access_list: Option<&[u8]>,
        blob_hashes: Option<Vec<Vec<u8>>>,
        authorizations: Option<&[u8]>,
    ) -> PyResult<Self> {
        let hashes = blob_hashes.map(|hashes| hashes.iter().map(|bytes| hash("blob hash", bytes)).collect());
        Ok(Self(call::Message {
            sender: address("sender", sender)?,
            to: to.map_or(Ok(TxKind::Create), |to| address("to", to).map(TxKind::Call))?,
            gas,
            gas_price: gas_price.map(|price| price.0),
            max_fee: max_fee.map(|fee| fee.0),
            max_priority_fee: max_priority_fee.map(|fee| fee.0),
            max_blob_fee: max_blob_fee.map(|fee| fee.0),
            value: value.map(|value| value.0).unwrap_or_default(),
            input: input.map(Bytes::copy_from_slice).unwrap_or_default(),
            access_list: access_list.map(|text| json("access_list", text)).transpose()?,
            blob_hashes: hashes.transpose()?,
            authorizations: authorizations.map(|text| json("authorizations", text)).transpose()?,
            nonce,
        }))
    }
}

/// Return the value in the JSON `text`, or a ValueError about `name`.
pub fn json<T: DeserializeOwned>(name: &str, text: &[u8]) -> PyResult<T> {
    serde_json::from_slice(text).map_err(|reason| PyValueError::new_err(format!("{name}: {reason}")))
}

/// Return the console messages, and the number of dropped ones.
pub fn console_tuple<'py>(
    py: Python<'py>,
    console_messages: &call::ConsoleMessages,
) -> (Vec<Bound<'py, PyBytes>>, usize) {
    (
        console_messages.messages.iter().map(|message| PyBytes::new(py, message)).collect(),
        console_messages.dropped,
    )
}

/// Flag by which any thread ends a run.
#[pyclass(frozen, module = "wsnode._native.evm")]
#[derive(Default)]
pub struct CancelFlag(pub Arc<AtomicBool>);

#[pymethods]
impl CancelFlag {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    #[getter]
    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Outcome of a run that succeeded.
#[pyclass(frozen, module = "wsnode._native.evm")]
pub struct Success {
    output: Bytes,
    #[pyo3(get)]
    gas_used: u64,
}

#[pymethods]
impl Success {
    #[getter]
    fn output<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.output)
    }
}

/// Outcome of a run that the contract reverted.
#[pyclass(frozen, module = "wsnode._native.evm")]
pub struct Revert {
    output: Bytes,
    #[pyo3(get)]
    gas_used: u64,
}

#[pymethods]
impl Revert {
    #[getter]
    fn output<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.output)
    }
}

/// Outcome of a run that broke a rule of the EVM, with the reason in geth's words.
#[pyclass(frozen, get_all, module = "wsnode._native.evm")]
pub struct Halt {
    reason: String,
    gas_used: u64,
}

/// Outcome of a run that exceeded its budget or was cancelled.
#[pyclass(frozen, get_all, module = "wsnode._native.evm")]
pub struct Interrupted {
    cancelled: bool,
}

/// Return the Python object for an outcome.
pub fn outcome(py: Python<'_>, outcome: call::Outcome) -> PyResult<Py<PyAny>> {
    Ok(match outcome {
        call::Outcome::Success { output, gas_used, .. } => {
            Py::new(py, Success { output, gas_used })?.into_any()
        }
        call::Outcome::Revert { output, gas_used } => Py::new(py, Revert { output, gas_used })?.into_any(),
        call::Outcome::Halt { reason, gas_used } => Py::new(py, Halt { reason, gas_used })?.into_any(),
        call::Outcome::Interrupted { cancelled } => Py::new(py, Interrupted { cancelled })?.into_any(),
    })
}

#[pyfunction]
fn revert_message(output: &[u8]) -> String {
    call::revert_message(output)
}

#[pyfunction]
fn with_supplied_gas(reason: &str, gas: u64) -> String {
    call::with_supplied_gas(reason, gas)
}

#[pyfunction]
#[pyo3(signature = (gas_limit, blocks, /))]
fn call_gas_cap(gas_limit: u64, blocks: u64) -> u64 {
    call::gas_cap(gas_limit, blocks)
}

register! {
    classes: Message, CancelFlag, Success, Revert, Halt, Interrupted;
    functions: revert_message, with_supplied_gas, call_gas_cap;
}
