//! Cursor of a table.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::Shared;
use crate::store::{KeyValue, Seek, Table, TransactionHandle};

/// Position at an entry, with a copy of the entry: so the table may be written to meanwhile.
#[pyclass(module = "wsnode._native.store")]
pub struct Cursor {
    store: Shared,
    transaction: TransactionHandle,
    table: Table,
    position: CursorPosition,
}

enum CursorPosition {
    Nowhere,
    Start,
    At(Py<PyBytes>, Py<PyBytes>),
    End,
}

impl Cursor {
    pub(super) fn new(store: &Shared, transaction: TransactionHandle, table: Table) -> Self {
        Self { store: store.clone(), transaction, table, position: CursorPosition::Nowhere }
    }

    /// Move to another entry and return true; move to `beyond` and return false if there is none.
    fn go(&mut self, py: Python<'_>, way: Seek<'_>, beyond: CursorPosition) -> PyResult<bool> {
        let copied = |(key, value): KeyValue<'_>| {
            CursorPosition::At(PyBytes::new(py, key).unbind(), PyBytes::new(py, value).unbind())
        };
        let found = self.transaction.entry(self.table, way, copied);
        let found = found.map_err(|failure| self.store.raised(failure))?;
        let is_there = found.is_some();
        self.position = found.unwrap_or(beyond);
        Ok(is_there)
    }
}

#[pymethods]
impl Cursor {
    #[pyo3(signature = (key, /))]
    fn set_range(&mut self, py: Python<'_>, key: &[u8]) -> PyResult<bool> {
        // LMDB refuses an empty key, so an empty key seeks the first entry.
        self.go(py, if key.is_empty() { Seek::First } else { Seek::AtOrAfter(key) }, CursorPosition::End)
    }

    fn next(&mut self, py: Python<'_>) -> PyResult<bool> {
        let key = match &self.position {
            CursorPosition::At(key, _) => key.clone_ref(py),
            CursorPosition::End => return Ok(false),
            CursorPosition::Nowhere | CursorPosition::Start => {
                return self.go(py, Seek::First, CursorPosition::End)
            }
        };
        self.go(py, Seek::After(key.as_bytes(py)), CursorPosition::End)
    }

    fn prev(&mut self, py: Python<'_>) -> PyResult<bool> {
        let key = match &self.position {
            CursorPosition::At(key, _) => key.clone_ref(py),
            CursorPosition::Start => return Ok(false),
            CursorPosition::Nowhere | CursorPosition::End => {
                return self.go(py, Seek::Last, CursorPosition::Start)
            }
        };
        self.go(py, Seek::Before(key.as_bytes(py)), CursorPosition::Start)
    }

    fn last(&mut self, py: Python<'_>) -> PyResult<bool> {
        self.go(py, Seek::Last, CursorPosition::End)
    }

    fn key<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.item(py).0
    }

    fn value<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.item(py).1
    }

    fn item<'py>(&self, py: Python<'py>) -> (Bound<'py, PyBytes>, Bound<'py, PyBytes>) {
        match &self.position {
            CursorPosition::At(key, value) => (key.bind(py).clone(), value.bind(py).clone()),
            _ => (PyBytes::new(py, b""), PyBytes::new(py, b"")),
        }
    }
}
