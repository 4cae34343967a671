//! The exceptions of the module, and the one place where the engine's errors become them.

use std::panic::{catch_unwind, AssertUnwindSafe};

use alloy_primitives::B256;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::error::{Error, InvalidBlock};
use crate::state::{gathering, Lack, StateError as StoreError};
use crate::trie::TrieError;

create_exception!(wsnode._native.evm, EngineError, PyException, "The engine could not do what it was asked.");
create_exception!(
    wsnode._native.evm,
    InvalidGenesisError,
    EngineError,
    "genesis.json describes no chain known here."
);
create_exception!(wsnode._native.evm, InvalidBlockError, EngineError, "A block breaks a rule.");
create_exception!(
    wsnode._native.evm,
    InvalidTransactionError,
    EngineError,
    "A message is refused before execution."
);
create_exception!(wsnode._native.evm, StateError, EngineError, "The state store cannot be read or written.");
create_exception!(
    wsnode._native.evm,
    StateBusyError,
    StateError,
    "Another process writes to the state store."
);
create_exception!(wsnode._native.evm, HistoryError, StateError, "A block is outside the stored history.");
create_exception!(
    wsnode._native.evm,
    ReorganisedError,
    StateError,
    "A block is not one of the chain any more."
);
create_exception!(wsnode._native.evm, BoundError, StateError, "What was asked for goes beyond a bound.");
create_exception!(
    wsnode._native.evm,
    LackingError,
    EngineError,
    "Values of the state are not known yet; once they are kept, the same can be tried again."
);
create_exception!(wsnode._native.evm, UnprovedError, EngineError, "What does not follow from proofs.");
create_exception!(wsnode._native.evm, WrongProofError, EngineError, "A proof does not prove what it says.");
create_exception!(wsnode._native.evm, StoppedError, StateError, "It was cancelled.");
create_exception!(wsnode._native.chain, CorruptRowError, EngineError, "A stored row cannot be read.");

/// Run `work`, turning what it fails with into a Python exception, and a panic into an `EngineError`:
/// a `PanicException` would pass every `except Exception`.
pub fn guard<T>(work: impl FnOnce() -> Result<T, Error>) -> PyResult<T> {
    caught(work)?.map_err(PyErr::from)
}

/// As `guard`, but `work` goes on without what is unknown of the state, so as to find all that it lacks at once; it
/// must write nothing.
pub fn guard_gathering<T>(work: impl FnOnce() -> Result<T, Error>) -> PyResult<T> {
    match caught(|| gathering(work))? {
        (done, lacks) if lacks.is_empty() => done.map_err(PyErr::from),
        (_, lacks) => Err(Error::State(StoreError::Unknown(lacks)).into()),
    }
}

/// Run `work`, turning only a panic into a Python exception.
pub fn caught<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
        EngineError::new_err(format!("the engine panicked: {text}"))
    })
}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::InvalidGenesis(_) => InvalidGenesisError::new_err(message),
            Error::InvalidBlock(invalid) => Python::attach(|py| invalid_block(py, &invalid)),
            Error::InvalidTransaction { kind, .. } => refused(message, kind),
            Error::State(error) => state_error(message, &error),
            Error::Busy(_) => StateBusyError::new_err(message),
            Error::CorruptRow(_) => CorruptRowError::new_err(message),
            Error::Internal(_) => EngineError::new_err(message),
        }
    }
}

/// The exception that names an invalid block and the rule that it breaks.
pub fn invalid_block(py: Python<'_>, invalid: &InvalidBlock) -> PyErr {
    let error = InvalidBlockError::new_err(invalid.to_string());
    let value = error.value(py);
    let hash = invalid.hash.map(|hash| PyBytes::new(py, hash.as_slice()));
    let set = value
        .setattr("number", invalid.number)
        .and_then(|()| value.setattr("block_hash", hash))
        .and_then(|()| value.setattr("rule", invalid.broken.rule.name()))
        .and_then(|()| value.setattr("expected", &invalid.broken.expected))
        .and_then(|()| value.setattr("actual", &invalid.broken.actual));
    set.err().unwrap_or(error)
}

fn refused(message: String, kind: &str) -> PyErr {
    Python::attach(|py| {
        let error = InvalidTransactionError::new_err(message);
        error.value(py).setattr("kind", kind).err().unwrap_or(error)
    })
}

fn state_error(message: String, error: &StoreError) -> PyErr {
    match error {
        StoreError::NoHistory { requested, earliest, latest } => Python::attach(|py| {
            let error = HistoryError::new_err(message);
            let value = error.value(py);
            let set = value
                .setattr("requested", requested)
                .and_then(|()| value.setattr("earliest", earliest))
                .and_then(|()| value.setattr("latest", latest));
            set.err().unwrap_or(error)
        }),
        StoreError::Reorganised { number, wanted, found } => {
            Python::attach(|py| reorganised(py, message, *number, wanted, found.as_ref()))
        }
        StoreError::TooMuchChanged { .. } | StoreError::TooManyLookBack | StoreError::TooMuchFound { .. } => {
            BoundError::new_err(message)
        }
        StoreError::Cancelled => StoppedError::new_err(message),
        StoreError::Unknown(lacks) => Python::attach(|py| lacking(py, message, lacks)),
        StoreError::Unproved(_) => UnprovedError::new_err(message),
        StoreError::WrongProof(_) => WrongProofError::new_err(message),
        StoreError::Trie(TrieError::Store(inner)) => match inner.downcast_ref::<StoreError>() {
            Some(inner) => state_error(inner.to_string(), inner),
            None => StateError::new_err(message),
        },
        _ => StateError::new_err(message),
    }
}

fn lacking(py: Python<'_>, message: String, lacks: &[Lack]) -> PyErr {
    let (mut accounts, mut slots, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    let mut block = None;
    for lack in lacks {
        match lack {
            Lack::Account(address) => accounts.push(PyBytes::new(py, address.as_slice())),
            Lack::Slot(address, slot) => {
                let slot = slot.to_be_bytes::<32>();
                slots.push((PyBytes::new(py, address.as_slice()), PyBytes::new(py, &slot)));
            }
            Lack::BlockHash(number) => numbers.push(*number),
            Lack::After(number, hash) => block = Some((*number, PyBytes::new(py, hash.as_slice()))),
        }
    }
    let error = LackingError::new_err(message);
    let value = error.value(py);
    let set = value
        .setattr("accounts", accounts)
        .and_then(|()| value.setattr("slots", slots))
        .and_then(|()| value.setattr("numbers", numbers))
        .and_then(|()| value.setattr("block", block));
    set.err().unwrap_or(error)
}

fn reorganised(py: Python<'_>, message: String, number: u64, wanted: &B256, found: Option<&B256>) -> PyErr {
    let error = ReorganisedError::new_err(message);
    let value = error.value(py);
    let set = value
        .setattr("number", number)
        .and_then(|()| value.setattr("wanted", PyBytes::new(py, wanted.as_slice())))
        .and_then(|()| value.setattr("found", found.map(|hash| PyBytes::new(py, hash.as_slice()))));
    set.err().unwrap_or(error)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("EngineError", py.get_type::<EngineError>())?;
    module.add("InvalidGenesisError", py.get_type::<InvalidGenesisError>())?;
    module.add("InvalidBlockError", with_members(py.get_type::<InvalidBlockError>())?)?;
    let refusal = py.get_type::<InvalidTransactionError>();
    refusal.setattr("kind", "")?;
    module.add("InvalidTransactionError", refusal)?;
    module.add("StateError", py.get_type::<StateError>())?;
    module.add("StateBusyError", py.get_type::<StateBusyError>())?;
    let history = py.get_type::<HistoryError>();
    ["requested", "earliest", "latest"].iter().try_for_each(|name| history.setattr(*name, 0))?;
    module.add("HistoryError", history)?;
    let reorganised = py.get_type::<ReorganisedError>();
    reorganised.setattr("number", 0)?;
    reorganised.setattr("wanted", PyBytes::new(py, &[]))?;
    reorganised.setattr("found", py.None())?;
    module.add("ReorganisedError", reorganised)?;
    let lacking = py.get_type::<LackingError>();
    ["accounts", "slots", "numbers"]
        .iter()
        .try_for_each(|name| lacking.setattr(*name, PyTuple::empty(py)))?;
    lacking.setattr("block", py.None())?;
    module.add("LackingError", lacking)?;
    module.add("UnprovedError", py.get_type::<UnprovedError>())?;
    module.add("WrongProofError", py.get_type::<WrongProofError>())?;
    module.add("BoundError", py.get_type::<BoundError>())?;
    module.add("StoppedError", py.get_type::<StoppedError>())
}

fn with_members<'py>(invalid: Bound<'py, pyo3::types::PyType>) -> PyResult<Bound<'py, pyo3::types::PyType>> {
    let py = invalid.py();
    invalid.setattr("number", py.None())?;
    invalid.setattr("block_hash", py.None())?;
    ["rule", "expected", "actual"].iter().try_for_each(|name| invalid.setattr(*name, ""))?;
    Ok(invalid)
}
