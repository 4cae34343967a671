//! Replies to many calls in one run, as long as the engine has their results.

use std::sync::Arc;

use alloy_eips::BlockNumHash;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::bindings::errors::caught;
use crate::bindings::evm::state::State;
use crate::bindings::numbers::hash;
use crate::bindings::store::Reader;
use crate::chain::tables::ChainError;
use crate::engine::Engine;
use crate::evm::call::WorkBudget;
use crate::json::Writer;
use crate::wire::native_methods::{self, NativeMethod, Replies, ReplyFormat, ReplyLimits};
use crate::wire::request::RequestParts;

/// Expected length of a result in bytes. Nearly all results are numbers.
const RESULT_BYTES: usize = 80;

/// Methods that the engine may answer.
#[pyclass(frozen, module = "wsnode._native.wire")]
pub struct NativeMethods(pub Vec<(String, NativeMethod)>);

#[pymethods]
impl NativeMethods {
    #[new]
    #[pyo3(signature = (methods, /))]
    fn new(methods: Vec<(String, Vec<u64>)>) -> PyResult<Self> {
        let known = |(name, limits): (String, Vec<u64>)| match NativeMethod::named(&name, &limits) {
            Some(read) => Ok((name, read)),
            None => Err(unknown(&name, limits.len())),
        };
        methods.into_iter().map(known).collect::<PyResult<_>>().map(Self)
    }
}

fn unknown(method: &str, limits: usize) -> PyErr {
    PyValueError::new_err(format!("the engine has no method {method} with {limits} limits"))
}

/// Snapshot of a chain and the state after its head.
#[pyclass(frozen, module = "wsnode._native.wire")]
pub struct HeadSnapshot {
    engine: Arc<Engine>,
    reader: Py<Reader>,
    head: BlockNumHash,
    is_plain: bool,
}

#[pymethods]
impl HeadSnapshot {
    #[new]
    #[pyo3(signature = (state, reader, number, block_hash, /, *, is_plain))]
    fn new(
        state: &State,
        reader: Py<Reader>,
        number: u64,
        block_hash: &[u8],
        is_plain: bool,
    ) -> PyResult<Self> {
        let head = BlockNumHash { number, hash: hash("block hash", block_hash)? };
        Ok(Self { engine: state.0.clone(), reader, head, is_plain })
    }

    #[pyo3(signature = (method, params, /))]
    fn answer<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        params: &[u8],
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let read = NativeMethod::named(method, &[]).ok_or_else(|| unknown(method, 0))?;
        let text = self.read(|mut snapshot| {
            caught(|| {
                let mut text = Writer::new(Vec::with_capacity(RESULT_BYTES));
                snapshot.write(read, params, &mut text).then(|| text.into_text())
            })
        })?;
        Ok(text.flatten().map(|text| PyBytes::new(py, &text)))
    }
}

impl HeadSnapshot {
    pub fn head(&self) -> BlockNumHash {
        self.head
    }

    /// Return the result of `answer`, or None if the snapshot has ended. The next call of the reader reports
    /// that.
    pub fn read<Answer>(
        &self,
        answer: impl FnOnce(native_methods::HeadSnapshot<'_, '_>) -> PyResult<Answer>,
    ) -> PyResult<Option<Answer>> {
        let reader = self.reader.get();
        let chain = reader.chain()?;
        let answered = reader.transaction.with(|txn| {
            let (work_budget, mut env) = (WorkBudget::new(Some(0), None), None);
            let block = (self.head, self.is_plain);
            let snapshot =
                native_methods::HeadSnapshot::new(&self.engine, chain, txn, block, &work_budget, &mut env);
            Ok::<_, ChainError>(answer(snapshot))
        });
        answered.ok().transpose()
    }
}

type Counted<'py> = PyResult<(Bound<'py, PyBytes>, Bound<'py, PyDict>)>;

#[pyfunction]
#[pyo3(signature = (calls, start, results, methods, snapshot, largest, room, /, *, are_messages))]
#[expect(clippy::too_many_arguments, reason = "each is one of Python's")]
fn answer_calls<'py>(
    calls: &Bound<'py, PyList>,
    start: usize,
    results: &Bound<'py, PyDict>,
    methods: &NativeMethods,
    snapshot: Option<&HeadSnapshot>,
    largest: usize,
    room: usize,
    are_messages: bool,
) -> Counted<'py> {
    let form = if are_messages { ReplyFormat::Frames } else { ReplyFormat::Joined };
    let results: Vec<(PyBackedStr, PyBackedBytes)> = results
        .iter()
        .map(|(name, result)| Ok((name.extract()?, result.extract()?)))
        .collect::<PyResult<_>>()?;
    let results: Vec<(&str, &[u8])> = results.iter().map(|(name, result)| (&**name, &**result)).collect();
    let (room, methods) = (ReplyLimits { largest, whole: room }, &methods.0);
    let answer = |snapshot: Option<native_methods::HeadSnapshot<'_, '_>>| {
        taken(Replies::new(form, room, &results, methods, snapshot), calls, start)
    };
    let (text, counted) = match snapshot {
        None => answer(None)?,
        Some(snapshot) => snapshot.read(|snapshot| answer(Some(snapshot)))?.unwrap_or_default(),
    };
    let counts = counts_by_name(calls.py(), &results, methods, &counted)?;
    Ok((PyBytes::new(calls.py(), &text), counts))
}

/// Return the number of answered calls for each of the results and methods by name, without zeros.
fn counts_by_name<'py>(
    py: Python<'py>,
    results: &[(&str, &[u8])],
    methods: &[(String, NativeMethod)],
    counted: &[usize],
) -> PyResult<Bound<'py, PyDict>> {
    let counts = PyDict::new(py);
    let names = results.iter().map(|(name, _)| *name).chain(methods.iter().map(|(name, _)| name.as_str()));
    for (name, count) in names.zip(counted).filter(|(_, count)| **count > 0) {
        counts.set_item(name, count)?;
    }
    Ok(counts)
}

/// Return the replies to `calls` from `start` on, and the number of replies for each result and method.
fn taken(
    mut replies: Replies<'_, '_, '_>,
    calls: &Bound<'_, PyList>,
    start: usize,
) -> PyResult<(Vec<u8>, Vec<usize>)> {
    replies.answer_all(calls.iter().skip(start), |replies, call| {
        if replies.form == ReplyFormat::Frames {
            return PyResult::Ok(replies.answer_message(call.cast::<PyBytes>()?.as_bytes()));
        }
        let request = call.extract::<(PyBackedStr, &[u8], &[u8])>();
        Ok(request.is_ok_and(|(method, params, identity)| {
            replies.answer(&RequestParts { identity, method: &method, params })
        }))
    })?;
    Ok(replies.into_parts())
}

register! {
    classes: NativeMethods, HeadSnapshot;
    functions: answer_calls;
}
