//! Snapshot as Python reads it.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::cursor::Cursor;
use super::view::View;
use super::{Shared, StoreError};
use crate::chain::tables::ChainTables;
use crate::store::{StoreError as Failure, TransactionHandle};

#[pyclass(frozen, subclass, module = "wsnode._native.store")]
pub struct Reader {
    pub(super) store: Shared,
    pub transaction: TransactionHandle,
}

/// Number of rows checked from one call of `progress` to the next.
const STRIDE: u64 = 4096;

/// Reason for the end of a check of rows: a failure of the store, or an exception of Python.
enum CheckFailure {
    Store(Failure),
    Raised(PyErr),
}

impl From<Failure> for CheckFailure {
    fn from(failure: Failure) -> Self {
        Self::Store(failure)
    }
}

impl From<PyErr> for CheckFailure {
    fn from(raised: PyErr) -> Self {
        Self::Raised(raised)
    }
}

impl Reader {
    pub(super) fn new(store: &Shared, transaction: TransactionHandle) -> Self {
        Self { store: store.clone(), transaction }
    }

    /// Return the tables of the chain; fail with `StoreError` in a store of another kind.
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

    #[pyo3(signature = (table, key, /))]
    fn missing<'py>(&self, table: &Bound<'py, PyAny>, key: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        let handle = self.store.table(table)?;
        let missing = self.transaction.with(|txn| Ok::<_, Failure>(handle.missing(txn, key)));
        let error = self.raised(missing.map_err(|failure| self.raised(failure))?);
        Ok(error.into_value(table.py()).into_bound(table.py()).into_any())
    }

    #[pyo3(signature = (table, /))]
    fn cursor(&self, table: &Bound<'_, PyAny>) -> PyResult<Cursor> {
        Ok(Cursor::new(&self.store, self.transaction.clone(), self.store.table(table)?))
    }

    #[pyo3(signature = (table, /))]
    fn entries(&self, table: &Bound<'_, PyAny>) -> PyResult<u64> {
        self.transaction.entries(self.store.table(table)?).map_err(|failure| self.raised(failure))
    }

    #[pyo3(signature = (table, progress, damaged, /))]
    fn check_rows(
        &self,
        table: &Bound<'_, PyAny>,
        progress: &Bound<'_, PyAny>,
        damaged: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (py, handle, mut done) = (table.py(), self.store.table(table)?, 0_u64);
        let checked = self.transaction.with(|txn| {
            let rows = handle.len(txn)?;
            handle.check_rows(txn, |key, is_damaged| {
                done += 1;
                if done.is_multiple_of(STRIDE) || done == rows {
                    progress.call1((done, rows))?;
                }
                if is_damaged {
                    damaged.call1((PyBytes::new(py, key),))?;
                }
                Ok(())
            })
        });
        checked.map_err(|failure| match failure {
            CheckFailure::Store(failure) => self.raised(failure),
            CheckFailure::Raised(raised) => raised,
        })
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
