//! Exceptions of the module, and the conversion of the engine's errors into them.

use std::panic::{catch_unwind, AssertUnwindSafe};

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::error::{Error, InvalidBlock};
use crate::state::{collecting_misses, Miss, StateError as StoreError};
use crate::store::{self, DamagedRow};
use crate::trie::TrieError;

create_exception!(wsnode._native.evm, EngineError, PyException);
create_exception!(wsnode._native.evm, InvalidGenesisError, EngineError);
create_exception!(wsnode._native.evm, InvalidBlockError, EngineError);
create_exception!(wsnode._native.evm, InvalidTransactionError, EngineError);
create_exception!(wsnode._native.evm, StateError, EngineError);
create_exception!(wsnode._native.evm, DamagedStateError, StateError);
create_exception!(wsnode._native.evm, HistoryError, StateError);
create_exception!(wsnode._native.evm, ReorganisedError, StateError);
create_exception!(wsnode._native.evm, BoundError, StateError);
create_exception!(wsnode._native.evm, MissingStateError, EngineError);
create_exception!(wsnode._native.evm, UnprovedError, EngineError);
create_exception!(wsnode._native.evm, NotExecutedError, EngineError);
create_exception!(wsnode._native.evm, WrongProofError, EngineError);
create_exception!(wsnode._native.evm, StoppedError, StateError);
create_exception!(wsnode._native.chain, CorruptRowError, EngineError);

/// Run `work` and return its result. Its error becomes a Python exception. A panic becomes an `EngineError`,
/// because a `PanicException` would pass every `except Exception`.
pub fn guard<T>(work: impl FnOnce() -> Result<T, Error>) -> PyResult<T> {
    caught(work)?.map_err(PyErr::from)
}

/// Run `work` as `guard` does. Unknown values of the state do not end the run, so that one error names all of
/// them. `work` must write nothing.
pub fn guard_collecting_misses<T>(work: impl FnOnce() -> Result<T, Error>) -> PyResult<T> {
    match caught(|| collecting_misses(work))? {
        (done, misses) if misses.is_empty() => done.map_err(PyErr::from),
        (_, misses) => Err(Error::State(StoreError::Unknown(misses)).into()),
    }
}

/// Run `work` while holding the interpreter's lock, or without it. Taking the lock back beside a busy thread
/// costs up to 5 ms.
pub fn inline_or_detached<T: Send>(
    py: Python<'_>,
    is_inline: bool,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<T> {
    if is_inline {
        guard_collecting_misses(work)
    } else {
        py.detach(|| guard_collecting_misses(work))
    }
}

/// Run `work` and return its result. Only a panic becomes a Python exception.
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
            Error::InvalidBlock(invalid) => invalid_block(&invalid),
            Error::InvalidTransaction { kind, .. } => {
                with_attributes(InvalidTransactionError::new_err(message), |_, error| {
                    error.setattr("kind", kind)
                })
            }
            Error::State(error) => state_error(message, &error),
            Error::CorruptRow(_) => CorruptRowError::new_err(message),
            Error::Internal(_) => EngineError::new_err(message),
        }
    }
}

/// Return the error after `set` has set its attributes, or the error of `set`.
pub fn with_attributes(
    error: PyErr,
    set: impl for<'py> FnOnce(Python<'py>, &Bound<'py, PyAny>) -> PyResult<()>,
) -> PyErr {
    Python::attach(|py| set(py, error.value(py).as_any()).err().unwrap_or(error))
}

/// Return the exception for an invalid block, with the rule that the block breaks.
pub fn invalid_block(invalid: &InvalidBlock) -> PyErr {
    with_attributes(InvalidBlockError::new_err(invalid.to_string()), |py, error| {
        error.setattr("number", invalid.number)?;
        error.setattr("block_hash", invalid.hash.map(|hash| PyBytes::new(py, hash.as_slice())))?;
        error.setattr("rule", invalid.violation.rule.name())?;
        error.setattr("expected", &invalid.violation.expected)?;
        error.setattr("actual", &invalid.violation.actual)
    })
}

fn state_error(message: String, error: &StoreError) -> PyErr {
    match error {
        StoreError::NoHistory { requested, earliest, latest } => {
            with_attributes(HistoryError::new_err(message), |_, error| {
                error.setattr("requested", requested)?;
                error.setattr("earliest", earliest)?;
                error.setattr("latest", latest)
            })
        }
        StoreError::Reorganised { number, wanted, found } => {
            with_attributes(ReorganisedError::new_err(message), |py, error| {
                error.setattr("number", number)?;
                error.setattr("wanted", PyBytes::new(py, wanted.as_slice()))?;
                error.setattr("found", found.map(|hash| PyBytes::new(py, hash.as_slice())))
            })
        }
        StoreError::TooMuchChanged { .. } | StoreError::TooManyLookBack | StoreError::TooMuchFound { .. } => {
            BoundError::new_err(message)
        }
        StoreError::Cancelled => StoppedError::new_err(message),
        StoreError::Unknown(misses) => missing_state(message, misses),
        StoreError::Unproved(_) => UnprovedError::new_err(message),
        StoreError::NotExecuted { address, kind, .. } => {
            with_attributes(NotExecutedError::new_err(message), |py, error| {
                error.setattr("address", PyBytes::new(py, address.as_slice()))?;
                error.setattr("kind", *kind)
            })
        }
        StoreError::Store(store::StoreError::DamagedRow(row)) => {
            damaged(DamagedStateError::new_err(message), row)
        }
        StoreError::WrongProof(_) => WrongProofError::new_err(message),
        StoreError::Trie(TrieError::Store(inner)) => match inner.downcast_ref::<StoreError>() {
            Some(inner) => state_error(inner.to_string(), inner),
            None => StateError::new_err(message),
        },
        _ => StateError::new_err(message),
    }
}

/// Addresses of accounts, and slots with their accounts' addresses.
pub type MissedValues<'py> = (Vec<Bound<'py, PyBytes>>, Vec<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)>);

/// Return the accounts and slots among the missing values.
pub fn values<'py>(py: Python<'py>, misses: &[Miss]) -> MissedValues<'py> {
    let (mut accounts, mut slots) = MissedValues::default();
    for miss in misses {
        match miss {
            Miss::Account(address) => accounts.push(PyBytes::new(py, address.as_slice())),
            Miss::Slot(address, slot) => {
                let slot = slot.to_be_bytes::<32>();
                slots.push((PyBytes::new(py, address.as_slice()), PyBytes::new(py, &slot)));
            }
            Miss::BlockHash(_) | Miss::After(..) => {}
        }
    }
    (accounts, slots)
}

fn missing_state(message: String, misses: &[Miss]) -> PyErr {
    with_attributes(MissingStateError::new_err(message), |py, error| {
        let (accounts, slots) = values(py, misses);
        let (mut numbers, mut block) = (Vec::new(), None);
        for miss in misses {
            match miss {
                Miss::BlockHash(number) => numbers.push(*number),
                Miss::After(number, hash) => block = Some((*number, PyBytes::new(py, hash.as_slice()))),
                Miss::Account(_) | Miss::Slot(..) => {}
            }
        }
        error.setattr("accounts", accounts)?;
        error.setattr("slots", slots)?;
        error.setattr("numbers", numbers)?;
        error.setattr("block", block)
    })
}

pub fn damaged(error: PyErr, row: &DamagedRow) -> PyErr {
    with_attributes(error, |_, error| set_damage(error, &row.table, &row.key))
}

/// Set the table and the key of a damaged row in an exception, or in its type.
pub fn set_damage(of: &Bound<'_, PyAny>, table: &str, key: &[u8]) -> PyResult<()> {
    of.setattr("table", table)?;
    of.setattr("key", PyBytes::new(of.py(), key))
}

register! {
    errors: EngineError, InvalidGenesisError, InvalidBlockError, InvalidTransactionError, StateError,
        DamagedStateError, HistoryError, ReorganisedError, BoundError, MissingStateError, UnprovedError,
        NotExecutedError, WrongProofError, StoppedError;
    also: set_class_attributes;
}

/// Set the attributes of errors in their types too, from which `stubtest` learns of them.
fn set_class_attributes(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let (nothing, no_bytes) = (py.None(), PyBytes::new(py, &[]));
    let invalid = py.get_type::<InvalidBlockError>();
    ["number", "block_hash"].iter().try_for_each(|name| invalid.setattr(*name, &nothing))?;
    ["rule", "expected", "actual"].iter().try_for_each(|name| invalid.setattr(*name, ""))?;
    py.get_type::<InvalidTransactionError>().setattr("kind", "")?;
    set_damage(&py.get_type::<DamagedStateError>(), "", &[])?;
    let history = py.get_type::<HistoryError>();
    ["requested", "earliest", "latest"].iter().try_for_each(|name| history.setattr(*name, 0))?;
    let reorganised = py.get_type::<ReorganisedError>();
    reorganised.setattr("number", 0)?;
    reorganised.setattr("wanted", &no_bytes)?;
    reorganised.setattr("found", &nothing)?;
    let missing = py.get_type::<MissingStateError>();
    let empty = PyTuple::empty(py);
    ["accounts", "slots", "numbers"].iter().try_for_each(|name| missing.setattr(*name, &empty))?;
    missing.setattr("block", &nothing)?;
    let not_executed = py.get_type::<NotExecutedError>();
    not_executed.setattr("address", &no_bytes)?;
    not_executed.setattr("kind", "")
}
