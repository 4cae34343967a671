//! Many calls answered at once, as long as the engine has their results.

use std::sync::Arc;

use alloy_eips::BlockNumHash;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::bindings::evm::state::State;
use crate::bindings::numbers::hash;
use crate::bindings::store::Reader;
use crate::chain::tables::ChainError;
use crate::engine::Engine;
use crate::evm::call::Watch;
use crate::wire::answers::{self, Form, Read, Replies, Room};
use crate::wire::request::Envelope;

/// The methods that the engine may answer.
#[pyclass(frozen, module = "wsnode._native.wire")]
pub struct EngineMethods(pub Vec<(String, Read)>);

#[pymethods]
impl EngineMethods {
    #[new]
    #[pyo3(signature = (methods, /))]
    fn new(methods: Vec<(String, Vec<u64>)>) -> PyResult<Self> {
        let known = |(name, limits): (String, Vec<u64>)| match Read::named(&name, &limits) {
            Some(read) => Ok((name, read)),
            None => {
                let count = limits.len();
                Err(PyValueError::new_err(format!("the engine has no method {name} with {count} limits")))
            }
        };
        methods.into_iter().map(known).collect::<PyResult<_>>().map(Self)
    }
}

/// A snapshot of a chain and the state after its head.
#[pyclass(frozen, module = "wsnode._native.wire")]
pub struct Moment {
    engine: Arc<Engine>,
    reader: Py<Reader>,
    head: BlockNumHash,
    is_plain: bool,
}

#[pymethods]
impl Moment {
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
}

impl Moment {
    /// What `answer` makes of it; None if its snapshot has ended, which the call that needs it reports.
    pub fn read<Answer>(
        &self,
        answer: impl FnOnce(answers::Moment<'_, '_>) -> PyResult<Answer>,
    ) -> PyResult<Option<Answer>> {
        let reader = self.reader.get();
        let chain = reader.chain()?;
        let answered = reader.transaction.with(|txn| {
            let (watch, mut stage) = (Watch::new(Some(0), None), None);
            let block = (self.head, self.is_plain);
            let moment = answers::Moment::new(&self.engine, chain, txn, block, &watch, &mut stage);
            Ok::<_, ChainError>(answer(moment))
        });
        answered.ok().transpose()
    }
}

type Counted<'py> = PyResult<(Bound<'py, PyBytes>, Bound<'py, PyDict>)>;

/// Answer the calls from `start` on that ask for one of the `results` without parameters, or for what one of the
/// `methods` finds in `moment`: messages by text frames, or else requests by replies with commas between.
///
/// Returns the replies, and how many there are for each method. They end at whatever asks for something else or in
/// another form, at a reply longer than `largest`, where they would be longer than `room`, and when they are many.
#[pyfunction]
#[pyo3(signature = (calls, start, results, methods, moment, largest, room, /, *, are_messages))]
#[expect(clippy::too_many_arguments, reason = "each is one of Python's")]
fn answer_calls<'py>(
    calls: &Bound<'py, PyList>,
    start: usize,
    results: &Bound<'py, PyDict>,
    methods: &EngineMethods,
    moment: Option<&Moment>,
    largest: usize,
    room: usize,
    are_messages: bool,
) -> Counted<'py> {
    let form = if are_messages { Form::Frames } else { Form::Joined };
    let results: Vec<(PyBackedStr, PyBackedBytes)> = results
        .iter()
        .map(|(name, result)| Ok((name.extract()?, result.extract()?)))
        .collect::<PyResult<_>>()?;
    let results: Vec<(&str, &[u8])> = results.iter().map(|(name, result)| (&**name, &**result)).collect();
    let (room, methods) = (Room { largest, whole: room }, &methods.0);
    let answer = |moment: Option<answers::Moment<'_, '_>>| {
        taken(Replies::new(form, room, &results, methods, moment), calls, start)
    };
    let (text, counted) = match moment {
        None => answer(None)?,
        Some(moment) => moment.read(|moment| answer(Some(moment)))?.unwrap_or_default(),
    };
    let counts = counts_by_name(calls.py(), &results, methods, &counted)?;
    Ok((PyBytes::new(calls.py(), &text), counts))
}

/// How many calls of each of the results and then of the methods were answered, without those that were not called.
fn counts_by_name<'py>(
    py: Python<'py>,
    results: &[(&str, &[u8])],
    methods: &[(String, Read)],
    counted: &[usize],
) -> PyResult<Bound<'py, PyDict>> {
    let counts = PyDict::new(py);
    let names = results.iter().map(|(name, _)| *name).chain(methods.iter().map(|(name, _)| name.as_str()));
    for (name, count) in names.zip(counted).filter(|(_, count)| **count > 0) {
        counts.set_item(name, count)?;
    }
    Ok(counts)
}

/// The replies to `calls` from `start` on.
fn taken(
    mut replies: Replies<'_, '_, '_>,
    calls: &Bound<'_, PyList>,
    start: usize,
) -> PyResult<(Vec<u8>, Vec<usize>)> {
    replies.take(calls.iter().skip(start), |replies, call| {
        if replies.form == Form::Frames {
            return PyResult::Ok(replies.answer_message(call.cast::<PyBytes>()?.as_bytes()));
        }
        let request = call.extract::<(PyBackedStr, &[u8], &[u8])>();
        Ok(request.is_ok_and(|(method, params, identity)| {
            replies.answer(&Envelope { identity, method: &method, params })
        }))
    })?;
    Ok(replies.into_parts())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<EngineMethods>()?;
    module.add_class::<Moment>()?;
    module.add_function(wrap_pyfunction!(answer_calls, module)?)
}
