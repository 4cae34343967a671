//! Many calls answered at once, as long as they ask for what the engine can tell by itself.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

use alloy_eips::BlockNumHash;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::bindings::evm::state::State;
use crate::bindings::numbers::hash;
use crate::bindings::store::Reader;
use crate::chain::lookup::LookupError;
use crate::engine::Engine;
use crate::json::Writer;
use crate::wire::answers::{self, Read};
use crate::wire::frame::write_head;
use crate::wire::request::Envelope;

/// How many calls are answered at the most, and how long others are begun.
const MOST: usize = 64;
const SLICE: Duration = Duration::from_millis(1);
/// Longer texts are read by themselves.
const LONGEST: usize = 256 * 1024;
/// After how many calls the clock is looked at.
const STRETCH: usize = 8;
const OPENING: &[u8] = br#"{"jsonrpc":"2.0","id":"#;
const MIDDLE: &[u8] = br#","result":"#;

/// The methods that the engine may answer.
#[pyclass(frozen, module = "wsnode._native.wire")]
struct EngineMethods(Vec<(String, Read)>);

#[pymethods]
impl EngineMethods {
    #[new]
    #[pyo3(signature = (names, /))]
    fn new(names: Vec<String>) -> PyResult<Self> {
        let known = |name: String| match Read::named(&name) {
            Some(read) => Ok((name, read)),
            None => Err(PyValueError::new_err(format!("the engine has no method {name}"))),
        };
        names.into_iter().map(known).collect::<PyResult<_>>().map(Self)
    }
}

/// A snapshot of a chain and the state after its head.
#[pyclass(frozen, module = "wsnode._native.wire")]
struct Moment {
    engine: Arc<Engine>,
    reader: Py<Reader>,
    head: BlockNumHash,
}

#[pymethods]
impl Moment {
    #[new]
    #[pyo3(signature = (state, reader, number, block_hash, /))]
    fn new(state: &State, reader: Py<Reader>, number: u64, block_hash: &[u8]) -> PyResult<Self> {
        let head = BlockNumHash { number, hash: hash("block hash", block_hash)? };
        Ok(Self { engine: state.0.clone(), reader, head })
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
    Answers::new(form, results, methods, largest, room)?.to(calls, start, moment)
}

/// How calls come, and how they are answered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Messages, by text frames.
    Frames,
    /// Requests, by replies with commas between.
    Joined,
}

/// The replies so far.
struct Answers<'a> {
    form: Form,
    results: Vec<(PyBackedStr, PyBackedBytes)>,
    methods: &'a [(String, Read)],
    largest: usize,
    room: usize,
    text: Vec<u8>,
    /// The bytes of the replies in `text`.
    size: usize,
    /// For each of `results`, and then of `methods`.
    counted: Vec<usize>,
}

impl<'a> Answers<'a> {
    fn new(
        form: Form,
        results: &Bound<'_, PyDict>,
        methods: &'a EngineMethods,
        largest: usize,
        room: usize,
    ) -> PyResult<Self> {
        let results: Vec<_> = results
            .iter()
            .map(|(name, result)| Ok((name.extract()?, result.extract()?)))
            .collect::<PyResult<_>>()?;
        let counted = vec![0; results.len() + methods.0.len()];
        Ok(Self { form, results, methods: &methods.0, largest, room, text: Vec::new(), size: 0, counted })
    }

    fn to<'py>(mut self, calls: &Bound<'py, PyList>, start: usize, moment: Option<&Moment>) -> Counted<'py> {
        match moment {
            None => self.take(calls, start, None)?,
            Some(moment) => {
                let reader = moment.reader.get();
                let chain = reader.chain()?;
                let taken = reader.transaction.with(|txn| {
                    let mut moment = answers::Moment::new(&moment.engine.reader, chain, txn, moment.head);
                    Ok::<_, LookupError>(self.take(calls, start, Some(&mut moment)))
                });
                // A snapshot that is lost is told of by the call that needs it.
                taken.unwrap_or(Ok(()))?;
            }
        }
        Ok((PyBytes::new(calls.py(), &self.text), self.counts(calls.py())?))
    }

    fn take(
        &mut self,
        calls: &Bound<'_, PyList>,
        start: usize,
        mut moment: Option<&mut answers::Moment<'_>>,
    ) -> PyResult<()> {
        let (mut result, began) = (Vec::new(), Instant::now());
        for (count, call) in calls.iter().skip(start).take(MOST).enumerate() {
            if count % STRETCH == STRETCH - 1 && began.elapsed() > SLICE {
                break;
            }
            let is_answered = match self.form {
                Form::Frames => Some(call.cast::<PyBytes>()?.as_bytes())
                    .filter(|text| text.len() <= LONGEST)
                    .and_then(Envelope::read)
                    .is_some_and(|call| self.answer(&call, moment.as_deref_mut(), &mut result)),
                Form::Joined => match call.extract::<(PyBackedStr, &[u8], &[u8])>() {
                    Ok((method, params, identity)) => {
                        let call = Envelope { identity, method: &method, params };
                        self.answer(&call, moment.as_deref_mut(), &mut result)
                    }
                    Err(_) => false,
                },
            };
            if !is_answered {
                break;
            }
        }
        Ok(())
    }

    /// Answer a call; whether it was not left to others.
    fn answer(
        &mut self,
        call: &Envelope<'_>,
        moment: Option<&mut answers::Moment<'_>>,
        result: &mut Vec<u8>,
    ) -> bool {
        result.clear();
        if call.identity.is_empty() {
            return false;
        }
        let Some(index) = self.write_result(call, moment, result) else {
            return false;
        };
        let is_pushed = self.push(call.identity, result);
        self.counted[index] += usize::from(is_pushed);
        is_pushed
    }

    /// Write the result of a call, and return where calls of its method are counted; nothing if it is left to others.
    fn write_result(
        &self,
        call: &Envelope<'_>,
        moment: Option<&mut answers::Moment<'_>>,
        result: &mut Vec<u8>,
    ) -> Option<usize> {
        if let Some(index) = self.results.iter().position(|(name, _)| **name == *call.method) {
            result.extend_from_slice(&self.results[index].1);
            return call.is_bare().then_some(index);
        }
        let index = self.methods.iter().position(|(name, _)| name == call.method)?;
        let mut text = Writer::new(std::mem::take(result));
        let (moment, read) = (moment?, self.methods[index].1);
        // What panics here panics for the method too, which says so.
        let write = AssertUnwindSafe(|| moment.write(read, call.params, &mut text));
        let is_written = catch_unwind(write).unwrap_or(false);
        *result = text.into_text();
        is_written.then_some(self.results.len() + index)
    }

    /// Add a reply, unless it is too long.
    fn push(&mut self, identity: &[u8], result: &[u8]) -> bool {
        let length = OPENING.len() + identity.len() + MIDDLE.len() + result.len() + 1;
        if length > self.largest || self.size + length > self.room {
            return false;
        }
        match self.form {
            Form::Frames => write_head(&mut self.text, length),
            Form::Joined if self.size > 0 => self.text.push(b','),
            Form::Joined => {}
        }
        for part in [OPENING, identity, MIDDLE, result, b"}"] {
            self.text.extend_from_slice(part);
        }
        self.size += length;
        true
    }

    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let results = self.results.iter().map(|(name, _)| &**name);
        let names = results.chain(self.methods.iter().map(|(name, _)| name.as_str()));
        let counts = PyDict::new(py);
        for (name, count) in names.zip(&self.counted).filter(|(_, count)| **count > 0) {
            counts.set_item(name, *count)?;
        }
        Ok(counts)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<EngineMethods>()?;
    module.add_class::<Moment>()?;
    module.add_function(wrap_pyfunction!(answer_calls, module)?)
}
