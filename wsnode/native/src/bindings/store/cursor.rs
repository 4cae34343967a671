//! A place in a table.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::Shared;
use crate::store::{Entry, Table, Transaction, Way};

/// Stands at an entry, of which it keeps a copy: so it may be used while the table is written to.
#[pyclass(module = "wsnode._native")]
pub struct Cursor {
    store: Shared,
    transaction: Transaction,
    table: Table,
    entry: Option<(Py<PyBytes>, Py<PyBytes>)>,
}

impl Cursor {
    pub(super) fn new(store: &Shared, transaction: Transaction, table: Table) -> Self {
        Self { store: store.clone(), transaction, table, entry: None }
    }

    fn go(&mut self, py: Python<'_>, way: Way<'_>) -> PyResult<bool> {
        let copied =
            |(key, value): Entry<'_>| (PyBytes::new(py, key).unbind(), PyBytes::new(py, value).unbind());
        let found = self.transaction.entry(self.table, way, copied);
        self.entry = found.map_err(|failure| self.store.raised(failure))?;
        Ok(self.entry.is_some())
    }

    /// Move from the entry here, or from nowhere.
    fn leave(&mut self, py: Python<'_>, way: fn(&[u8]) -> Way<'_>, nowhere: Way<'_>) -> PyResult<bool> {
        match self.entry.take() {
            Some((key, _)) => self.go(py, way(key.as_bytes(py))),
            None => self.go(py, nowhere),
        }
    }
}

#[pymethods]
impl Cursor {
    #[pyo3(signature = (key, /))]
    fn set_range(&mut self, py: Python<'_>, key: &[u8]) -> PyResult<bool> {
        // To LMDB no key is empty.
        self.go(py, if key.is_empty() { Way::First } else { Way::AtOrAfter(key) })
    }

    fn next(&mut self, py: Python<'_>) -> PyResult<bool> {
        self.leave(py, |key| Way::After(key), Way::First)
    }

    fn prev(&mut self, py: Python<'_>) -> PyResult<bool> {
        self.leave(py, |key| Way::Before(key), Way::Last)
    }

    fn last(&mut self, py: Python<'_>) -> PyResult<bool> {
        self.go(py, Way::Last)
    }

    fn key<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.item(py).0
    }

    fn value<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.item(py).1
    }

    fn item<'py>(&self, py: Python<'py>) -> (Bound<'py, PyBytes>, Bound<'py, PyBytes>) {
        match &self.entry {
            Some((key, value)) => (key.bind(py).clone(), value.bind(py).clone()),
            None => (PyBytes::new(py, b""), PyBytes::new(py, b"")),
        }
    }
}
