//! An open file.

use std::path::PathBuf;
use std::sync::Arc;

use heed::MdbError;
use pyo3::prelude::*;

use super::reader::Reader;
use super::writer::Writer;
use super::{name_of, raised, Shared, Store};
use crate::lookup::ChainTables;
use crate::store::{Environment, StoreError as Failure, Transaction};

/// Addresses, not memory or disk: the file grows only with what is written.
const MAP_SIZE: usize = 1 << 38;

#[pyclass(frozen, module = "wsnode._native", name = "Environment")]
pub struct PyEnvironment(Shared);

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
        loop {
            match self.attempt(py, change)? {
                Ok(value) => return Ok(value),
                Err(failure) if self.has_grown_for(&failure)? => {}
                Err(failure) => return Err(self.0.raised(failure)),
            }
        }
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
        self.0.end();
    }
}

impl PyEnvironment {
    /// What `change` returned once it is committed, or what the store failed with; its own exception is raised.
    fn attempt<'py>(
        &self,
        py: Python<'py>,
        change: &Bound<'py, PyAny>,
    ) -> PyResult<Result<Bound<'py, PyAny>, Failure>> {
        let transaction = match py.detach(|| self.0.environment.begin()) {
            Ok(transaction) => transaction,
            Err(failure) => return Ok(Err(failure)),
        };
        let undoing = Undoing(&transaction);
        let made = Writer::new(py, Reader::new(&self.0, transaction.clone()))
            .and_then(|writer| change.call1((writer,)));
        if transaction.is_cut_short() {
            return Ok(Err(heed::Error::Mdb(MdbError::MapFull).into()));
        }
        let value = made?;
        let committed = py.detach(|| transaction.commit());
        drop(undoing);
        Ok(committed.map(|()| value))
    }

    fn has_grown_for(&self, failure: &Failure) -> PyResult<bool> {
        self.0.environment.has_grown_for(failure).map_err(|failure| self.0.raised(failure))
    }
}
