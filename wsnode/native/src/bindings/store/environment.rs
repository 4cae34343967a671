//! An open file.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use heed::MdbError;
use pyo3::prelude::*;

use super::reader::Reader;
use super::writer::Writer;
use super::{name_of, raised, Shared, Store, StoreError};
use crate::bindings::descriptors::duplicate;
use crate::chain::tables::ChainTables;
use crate::store::file::MAP_SIZE;
use crate::store::{Environment, StoreError as Failure, Transaction, Turn};

/// The time for which a change that needs a larger map waits for views of the old one.
const PATIENCE: Duration = Duration::from_secs(5);

#[pyclass(frozen, module = "wsnode._native.store", name = "Environment")]
pub struct PyEnvironment(Shared);

impl PyEnvironment {
    /// What the last change has made the store's version, whatever process has made it.
    pub fn version(&self) -> Result<usize, Failure> {
        self.0.environment.version()
    }
}

#[pymethods]
impl PyEnvironment {
    #[new]
    #[pyo3(signature = (path, tables, *, writer, durable=true, map_size=MAP_SIZE))]
    fn new(
        path: PathBuf,
        tables: Vec<Bound<'_, PyAny>>,
        writer: bool,
        durable: bool,
        map_size: usize,
    ) -> PyResult<Self> {
        let names = tables.iter().map(name_of).collect::<PyResult<Vec<_>>>()?;
        let environment = Environment::open(&path, &names, writer, durable, map_size).map_err(raised)?;
        let chain = ChainTables::among(&names, &environment.tables);
        let names = tables.into_iter().map(Bound::unbind).collect();
        Ok(Self(Arc::new(Store { environment, names, chain })))
    }

    fn read(&self) -> PyResult<Reader> {
        let snapshot = self.0.environment.read().map_err(|failure| self.0.raised(failure))?;
        Ok(Reader::new(&self.0, snapshot))
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
                Some(size) => self.grow(py, size, &turn)?,
                None => return Err(self.0.raised(failure)),
            }
        }
    }

    fn copy(&self, py: Python<'_>, descriptor: i32) -> PyResult<()> {
        let mut target = duplicate(descriptor)?;
        py.detach(|| self.0.environment.copy(&mut target)).map_err(|failure| self.0.raised(failure))
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

/// Undoes a change that was not committed, whatever has ended it.
struct Undoing<'a>(&'a Transaction);

impl Drop for Undoing<'_> {
    fn drop(&mut self) {
        self.0.undo();
    }
}

impl PyEnvironment {
    /// What `change` returned once it is committed, or what the store failed with; its own exception is raised.
    fn attempt<'py>(
        &self,
        py: Python<'py>,
        change: &Bound<'py, PyAny>,
        turn: &Turn<'_>,
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
        let committed = py.detach(|| transaction.commit().inspect(|()| self.0.environment.ring()));
        drop(undoing);
        Ok(committed.map(|()| value))
    }

    /// Enlarge the map once it has no view; a view lasts while a reply is written, if at all.
    fn grow(&self, py: Python<'_>, size: usize, turn: &Turn<'_>) -> PyResult<()> {
        let began = Instant::now();
        while self.0.environment.is_viewed() {
            if began.elapsed() > PATIENCE {
                return Err(StoreError::new_err("the map cannot grow while values in it are viewed"));
            }
            py.detach(|| sleep(Duration::from_millis(1)));
        }
        // A new view needs the interpreter's lock, which this holds.
        self.0.environment.grow(size, turn).map_err(|failure| self.0.raised(failure))
    }
}
