//! Many calls answered at once, as long as they ask for what the engine can tell by itself.

use std::sync::Arc;

use alloy_eips::BlockNumHash;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyDict, PyList};

use super::numbers::hash;
use super::state::State;
use super::store::Reader;
use crate::engine::Engine;
use crate::json::Writer;
use crate::lookup::LookupError;
use crate::reads::{self, Read};
use crate::wire::frame::write_head;
use crate::wire::request::Envelope;

/// How many calls are answered before others have their turn.
const MOST: usize = 64;
const OPENING: &[u8] = br#"{"jsonrpc":"2.0","id":"#;
const MIDDLE: &[u8] = br#","result":"#;

/// The methods that the engine may answer.
#[pyclass(frozen, module = "wsnode._native")]
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
#[pyclass(frozen, module = "wsnode._native")]
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

/// Answer the messages from `start` on that ask for one of the `results` without parameters, or for what one of the
/// `methods` finds in `moment`.
///
/// Returns the replies as text frames, and how many there are for each method. They end at whatever asks for something
/// else or in another form, at a reply longer than `largest`, behind the one that makes them longer than `room`, and
/// when they are many.
#[pyfunction]
#[pyo3(signature = (messages, start, results, methods, moment, largest, room, /))]
fn answer_calls<'py>(
    messages: &Bound<'py, PyList>,
    start: usize,
    results: &Bound<'py, PyDict>,
    methods: &EngineMethods,
    moment: Option<&Moment>,
    largest: usize,
    room: usize,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyDict>)> {
    let py = messages.py();
    let results = results
        .iter()
        .map(|(name, result)| Ok((name.extract()?, result.extract()?)))
        .collect::<PyResult<_>>()?;
    let mut answers = Answers { results, methods: &methods.0, largest, room, ..<_>::default() };
    match moment {
        None => answers.take(messages, start, None)?,
        Some(moment) => {
            let reader = moment.reader.get();
            let chain = reader.chain()?;
            let taken = reader.transaction.with(|txn| {
                let mut moment = reads::Moment::new(&moment.engine.reader, chain, txn, moment.head);
                Ok::<_, LookupError>(answers.take(messages, start, Some(&mut moment)))
            });
            // A snapshot that is lost is told of by the call that needs it.
            taken.unwrap_or(Ok(()))?;
        }
    }
    Ok((PyBytes::new(py, &answers.frames), answers.counts(py)?))
}

/// The replies so far.
#[derive(Default)]
struct Answers<'a> {
    results: Vec<(PyBackedStr, PyBackedBytes)>,
    methods: &'a [(String, Read)],
    largest: usize,
    room: usize,
    frames: Vec<u8>,
    /// The bytes of the replies in `frames`.
    size: usize,
    /// For each of `results`, and then of `methods`.
    counted: Vec<usize>,
}

impl Answers<'_> {
    fn take(
        &mut self,
        messages: &Bound<'_, PyList>,
        start: usize,
        mut moment: Option<&mut reads::Moment<'_>>,
    ) -> PyResult<()> {
        self.counted = vec![0; self.results.len() + self.methods.len()];
        let mut result = Vec::new();
        for message in messages.iter().skip(start).take(MOST) {
            let text = message.cast::<PyBytes>()?.as_bytes();
            let call =
                Envelope::read(text).filter(|call| self.size <= self.room && !call.identity.is_empty());
            let Some(call) = call else {
                break;
            };
            result.clear();
            let Some(index) = self.write_result(&call, moment.as_deref_mut(), &mut result) else {
                break;
            };
            if !self.push(call.identity, &result) {
                break;
            }
            self.counted[index] += 1;
        }
        Ok(())
    }

    /// Write the result of a call, and return where calls of its method are counted; nothing if it is left to others.
    fn write_result(
        &self,
        call: &Envelope<'_>,
        moment: Option<&mut reads::Moment<'_>>,
        result: &mut Vec<u8>,
    ) -> Option<usize> {
        if let Some(index) = self.results.iter().position(|(name, _)| **name == *call.method) {
            result.extend_from_slice(&self.results[index].1);
            return call.is_bare().then_some(index);
        }
        let index = self.methods.iter().position(|(name, _)| name == call.method)?;
        let mut text = Writer::new(std::mem::take(result));
        let is_written = moment?.write(self.methods[index].1, call.params, &mut text);
        *result = text.into_text();
        is_written.then_some(self.results.len() + index)
    }

    /// Add a reply, unless it is too long.
    fn push(&mut self, identity: &[u8], result: &[u8]) -> bool {
        let length = OPENING.len() + identity.len() + MIDDLE.len() + result.len() + 1;
        if length > self.largest {
            return false;
        }
        write_head(&mut self.frames, length);
        for part in [OPENING, identity, MIDDLE, result, b"}"] {
            self.frames.extend_from_slice(part);
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
