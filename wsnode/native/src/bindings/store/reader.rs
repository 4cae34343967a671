//! A snapshot.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::cursor::Cursor;
use super::view::View;
use super::{Shared, StoreError};
use crate::chain::tables::ChainTables;
use crate::store::{StoreError as Failure, Transaction};

#[pyclass(frozen, subclass, module = "wsnode._native.store")]
pub struct Reader {
    pub(super) store: Shared,
    pub transaction: Transaction,
}

impl Reader {
    pub(super) fn new(store: &Shared, transaction: Transaction) -> Self {
        Self { store: store.clone(), transaction }
    }

    /// The tables of the chain that is read.
    pub fn chain(&self) -> PyResult<&ChainTables> {
        self.store.chain.as_ref().ok_or_else(|| StoreError::new_err("the store keeps no chain of blocks"))
    }

    pub fn raised(&self, failure: Failure) -> PyErr {
        self.store.raised(failure)
    }
}

#[pymethods]
impl Reader {
    #[getter]
    fn version(&self) -> PyResult<usize> {
        self.transaction.version().map_err(|failure| self.raised(failure))
    }

    #[pyo3(signature = (table, key, /))]
    pub(super) fn get<'py>(
        &self,
        table: &Bound<'py, PyAny>,
        key: &[u8],
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let handle = self.store.table(table)?;
        let found = self.transaction.get(handle, key, |value| PyBytes::new(table.py(), value));
        found.map_err(|failure| self.raised(failure))
    }

    #[pyo3(signature = (table, key, /))]
    fn view<'py>(&self, table: &Bound<'py, PyAny>, key: &[u8]) -> PyResult<Option<Bound<'py, PyAny>>> {
        let handle = self.store.table(table)?;
        let pin = self.store.environment.pin().map_err(|failure| self.raised(failure))?;
        let found = self.transaction.get(handle, key, |value| (value.as_ptr(), value.len()));
        match found.map_err(|failure| self.raised(failure))? {
            Some((start, size)) => View::of(table.py(), start, size, pin).map(Some),
            None => Ok(None),
        }
    }

    #[pyo3(signature = (table, /))]
    fn cursor(&self, table: &Bound<'_, PyAny>) -> PyResult<Cursor> {
        Ok(Cursor::new(&self.store, self.transaction.clone(), self.store.table(table)?))
    }

    #[pyo3(signature = (table, /))]
    fn entries(&self, table: &Bound<'_, PyAny>) -> PyResult<u64> {
        self.transaction.entries(self.store.table(table)?).map_err(|failure| self.raised(failure))
    }

    fn close(&self) {
        self.transaction.close();
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_details))]
    fn __exit__(&self, _details: &Bound<'_, PyAny>) {
        self.close();
    }
}
