//! Exceptions of the module, and the conversion of the engine's errors into them.

use std::panic::{catch_unwind, AssertUnwindSafe};

use alloy_primitives::B256;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::error::{Error, InvalidBlock};
use crate::state::{collecting_misses, Miss, StateError as StoreError};
use crate::store::{self, DamagedRow};
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
    DamagedStateError,
    StateError,
    "A row of the state store does not have its checksum, or is behind a damaged page."
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
    MissingStateError,
    EngineError,
    "Values of the state are not known yet; once they are kept, the same can be tried again."
);
create_exception!(wsnode._native.evm, UnprovedError, EngineError, "What does not follow from proofs.");
create_exception!(
    wsnode._native.evm,
    NotExecutedError,
    EngineError,
    "Execution came to what is not the EVM's to run."
);
create_exception!(wsnode._native.evm, WrongProofError, EngineError, "A proof does not prove what it says.");
create_exception!(wsnode._native.evm, StoppedError, StateError, "It was cancelled.");
create_exception!(wsnode._native.chain, CorruptRowError, EngineError, "A stored row cannot be read.");

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
            Error::InvalidBlock(invalid) => Python::attach(|py| invalid_block(py, &invalid)),
            Error::InvalidTransaction { kind, .. } => refused(message, kind),
            Error::State(error) => state_error(message, &error),
            Error::CorruptRow(_) => CorruptRowError::new_err(message),
            Error::Internal(_) => EngineError::new_err(message),
        }
    }
}

/// Return the exception for an invalid block, with the rule that the block breaks.
pub fn invalid_block(py: Python<'_>, invalid: &InvalidBlock) -> PyErr {
    let error = InvalidBlockError::new_err(invalid.to_string());
    let value = error.value(py);
    let hash = invalid.hash.map(|hash| PyBytes::new(py, hash.as_slice()));
    let set = value
        .setattr("number", invalid.number)
        .and_then(|()| value.setattr("block_hash", hash))
        .and_then(|()| value.setattr("rule", invalid.violation.rule.name()))
        .and_then(|()| value.setattr("expected", &invalid.violation.expected))
        .and_then(|()| value.setattr("actual", &invalid.violation.actual));
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
        StoreError::Unknown(misses) => Python::attach(|py| missing_state(py, message, misses)),
        StoreError::Unproved(_) => UnprovedError::new_err(message),
        StoreError::NotExecuted { address, kind, .. } => Python::attach(|py| {
            let error = NotExecutedError::new_err(message);
            let value = error.value(py);
            let set = value
                .setattr("address", PyBytes::new(py, address.as_slice()))
                .and_then(|()| value.setattr("kind", *kind));
            set.err().unwrap_or(error)
        }),
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

fn missing_state(py: Python<'_>, message: String, misses: &[Miss]) -> PyErr {
    let (accounts, slots) = values(py, misses);
    let (mut numbers, mut block) = (Vec::new(), None);
    for miss in misses {
        match miss {
            Miss::BlockHash(number) => numbers.push(*number),
            Miss::After(number, hash) => block = Some((*number, PyBytes::new(py, hash.as_slice()))),
            Miss::Account(_) | Miss::Slot(..) => {}
        }
    }
    let error = MissingStateError::new_err(message);
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

/// Return the error with the table and the key of a damaged row.
pub fn damaged(error: PyErr, row: &DamagedRow) -> PyErr {
    Python::attach(|py| set_damage(error.value(py), &row.table, &row.key).err().unwrap_or(error))
}

/// Set the table and the key of a damaged row in an exception, or in its type.
pub fn set_damage(of: &Bound<'_, PyAny>, table: &str, key: &[u8]) -> PyResult<()> {
    of.setattr("table", table)?;
    of.setattr("key", PyBytes::new(of.py(), key))
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
    let damaged = py.get_type::<DamagedStateError>();
    set_damage(&damaged, "", &[])?;
    module.add("DamagedStateError", damaged)?;
    let history = py.get_type::<HistoryError>();
    ["requested", "earliest", "latest"].iter().try_for_each(|name| history.setattr(*name, 0))?;
    module.add("HistoryError", history)?;
    let reorganised = py.get_type::<ReorganisedError>();
    reorganised.setattr("number", 0)?;
    reorganised.setattr("wanted", PyBytes::new(py, &[]))?;
    reorganised.setattr("found", py.None())?;
    module.add("ReorganisedError", reorganised)?;
    let missing_state = py.get_type::<MissingStateError>();
    ["accounts", "slots", "numbers"]
        .iter()
        .try_for_each(|name| missing_state.setattr(*name, PyTuple::empty(py)))?;
    missing_state.setattr("block", py.None())?;
    module.add("MissingStateError", missing_state)?;
    module.add("UnprovedError", py.get_type::<UnprovedError>())?;
    let not_executed = py.get_type::<NotExecutedError>();
    not_executed.setattr("address", PyBytes::new(py, &[]))?;
    not_executed.setattr("kind", "")?;
    module.add("NotExecutedError", not_executed)?;
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
