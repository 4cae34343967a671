//! LMDB file as Python opens it.

use std::fs::File;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use heed::MdbError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::reader::Reader;
use super::writer::Writer;
use super::{name_of, raised, Shared, Store, StoreError};
use crate::chain::tables::ChainTables;
use crate::state::Tables as StateTables;
use crate::store::file::FIRST_MAP_SIZE;
use crate::store::{Environment, Opening, StoreError as Failure, TransactionHandle, WriteGuard};

/// Time for which a snapshot waits for views of the old map. Views of the waiting thread itself do not end
/// meanwhile.
const READING_PATIENCE: Duration = Duration::from_secs(1);

#[pyclass(frozen, module = "wsnode._native.store", name = "Environment")]
pub struct PyEnvironment(Shared);

impl PyEnvironment {
    /// Return the version of the file: the number of the last change by any process.
    pub fn version(&self) -> Result<usize, Failure> {
        self.0.environment.version()
    }

    /// Return the environment and its tables of a state; fail with `StoreError` if it has none.
    pub fn state(&self) -> PyResult<(Arc<Environment>, StateTables)> {
        let tables = self.0.state.ok_or_else(|| StoreError::new_err("the store keeps no state"))?;
        Ok((self.0.environment.clone(), tables))
    }

    /// Return a snapshot of the last commit by any process.
    pub fn snapshot(&self) -> Result<TransactionHandle, Failure> {
        self.0.environment.read()
    }

    /// Return the tables of the chain, or None in a store of another kind.
    pub fn chain(&self) -> Option<&ChainTables> {
        self.0.chain.as_ref()
    }
}

#[pymethods]
impl PyEnvironment {
    #[new]
    #[pyo3(signature = (path, tables, *, writer, durable=true, map_size=FIRST_MAP_SIZE))]
    fn new(
        path: PathBuf,
        tables: Vec<Bound<'_, PyAny>>,
        writer: bool,
        durable: bool,
        map_size: usize,
    ) -> PyResult<Self> {
        let names = tables.iter().map(name_of).collect::<PyResult<Vec<_>>>()?;
        let (chain, state) = (ChainTables::among(&names), StateTables::among(&names));
        let opening = Opening { path, names, writer, durability: durable.into(), map_size, grows: true };
        let environment = Arc::new(Environment::open(opening).map_err(raised)?);
        let names = tables.into_iter().map(Bound::unbind).collect();
        Ok(Self(Arc::new(Store { environment, names, chain, state })))
    }

    fn read(&self, py: Python<'_>) -> PyResult<Reader> {
        let snapshot = match self.0.environment.read() {
            Err(Failure::MapBusy | Failure::Reopening) => {
                waiting(py, READING_PATIENCE, || self.0.environment.read())
            }
            found => found,
        };
        Ok(Reader::new(&self.0, snapshot.map_err(|failure| self.0.raised(failure))?))
    }

    #[pyo3(signature = (change, /))]
    fn write<'py>(&self, py: Python<'py>, change: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let environment = &self.0.environment;
        let turn = py.detach(|| environment.turn());
        loop {
            let failure = match self.attempt(py, change, &turn)? {
                Ok(value) => return Ok(value),
                Err(failure) => failure,
            };
            match environment.wanted_size(&failure).map_err(raised)? {
                Some(size) => {
                    let grown = py.detach(|| environment.grow(size, &turn));
                    grown.map_err(|failure| self.0.raised(failure))?;
                }
                None => return Err(self.0.raised(failure)),
            }
        }
    }

    fn copy(&self, py: Python<'_>, descriptor: i32) -> PyResult<()> {
        let mut target = duplicate(descriptor)?;
        py.detach(|| self.0.environment.copy(&mut target)).map_err(|failure| self.0.raised(failure))
    }

    fn require_usable(&self) -> PyResult<()> {
        self.0.environment.require_usable().map_err(raised)
    }

    fn require_undamaged(&self) -> PyResult<()> {
        self.0.environment.require_undamaged().map_err(raised)
    }

    #[getter]
    fn damaged(&self) -> u64 {
        self.0.environment.damaged()
    }

    #[getter]
    fn versions(&self) -> usize {
        self.0.environment.versions()
    }

    #[getter]
    fn map_size(&self) -> PyResult<usize> {
        self.0.environment.map_size().map_err(raised)
    }

    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.environment.sync()).map_err(raised)
    }

    fn close(&self) {
        self.0.environment.close();
    }
}

/// Guard that undoes a change unless it was committed.
struct Undoing<'a>(&'a TransactionHandle);

impl Drop for Undoing<'_> {
    fn drop(&mut self) {
        self.0.undo();
    }
}

impl PyEnvironment {
    /// Call `change` and commit its writes.
    ///
    /// The inner result is the value of `change`, or a failure of the store. The outer error is the exception
    /// of `change`.
    fn attempt<'py>(
        &self,
        py: Python<'py>,
        change: &Bound<'py, PyAny>,
        turn: &WriteGuard<'_>,
    ) -> PyResult<Result<Bound<'py, PyAny>, Failure>> {
        let transaction = match py.detach(|| self.0.environment.begin(turn)) {
            Ok(transaction) => transaction,
            Err(failure) => return Ok(Err(failure)),
        };
        let undoing = Undoing(&transaction);
        let made = Writer::new(py, Reader::new(&self.0, transaction.clone()))
            .and_then(|writer| change.call1((writer,)));
        let is_its_own = |error: &PyErr| !error.is_instance_of::<StoreError>(py);
        if transaction.is_cut_short() && !made.as_ref().is_err_and(is_its_own) {
            return Ok(Err(heed::Error::Mdb(MdbError::MapFull).into()));
        }
        let value = made?;
        let environment = &self.0.environment;
        let committed = py.detach(|| environment.commit(&transaction, turn).inspect(|()| environment.ring()));
        drop(undoing);
        Ok(committed.map(|()| value))
    }
}

/// Repeat `attempt` each millisecond, for `patience`, while it fails because a thread reads in the map.
fn waiting<T>(
    py: Python<'_>,
    patience: Duration,
    attempt: impl Fn() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let began = Instant::now();
    loop {
        match attempt() {
            Err(Failure::MapBusy | Failure::Reopening) if began.elapsed() <= patience => {
                py.detach(|| sleep(Duration::from_millis(1)));
            }
            done => return done,
        }
    }
}

/// Return a duplicate of the open file with the descriptor `number`. The caller closes the descriptor itself.
fn duplicate(number: i32) -> PyResult<File> {
    if number < 0 {
        return Err(PyValueError::new_err("there is no such descriptor"));
    }
    // SAFETY: the descriptor is borrowed for one system call, which fails if the descriptor is closed.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    Ok(File::from(borrowed.try_clone_to_owned()?))
}
