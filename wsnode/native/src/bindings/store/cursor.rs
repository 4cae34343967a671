//! A place in a table.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::Shared;
use crate::store::{Entry, Table, Transaction, Way};

/// Stands at an entry, of which it keeps a copy: so it may be used while the table is written to.
#[pyclass(module = "wsnode._native.store")]
pub struct Cursor {
    store: Shared,
    transaction: Transaction,
    table: Table,
    place: Place,
}

enum Place {
    Nowhere,
    Start,
    At(Py<PyBytes>, Py<PyBytes>),
    End,
}

impl Cursor {
    pub(super) fn new(store: &Shared, transaction: Transaction, table: Table) -> Self {
        Self { store: store.clone(), transaction, table, place: Place::Nowhere }
    }

    /// Go to another entry, or to `beyond` if there is none; whether there is.
    fn go(&mut self, py: Python<'_>, way: Way<'_>, beyond: Place) -> PyResult<bool> {
        let copied = |(key, value): Entry<'_>| {
            Place::At(PyBytes::new(py, key).unbind(), PyBytes::new(py, value).unbind())
        };
        let found = self.transaction.entry(self.table, way, copied);
        let found = found.map_err(|failure| self.store.raised(failure))?;
        let is_there = found.is_some();
        self.place = found.unwrap_or(beyond);
        Ok(is_there)
    }
}

#[pymethods]
impl Cursor {
    #[pyo3(signature = (key, /))]
    fn set_range(&mut self, py: Python<'_>, key: &[u8]) -> PyResult<bool> {
        // To LMDB no key is empty.
        self.go(py, if key.is_empty() { Way::First } else { Way::AtOrAfter(key) }, Place::End)
    }

    fn next(&mut self, py: Python<'_>) -> PyResult<bool> {
        let key = match &self.place {
            Place::At(key, _) => key.clone_ref(py),
            Place::End => return Ok(false),
            Place::Nowhere | Place::Start => return self.go(py, Way::First, Place::End),
        };
        self.go(py, Way::After(key.as_bytes(py)), Place::End)
    }

    fn prev(&mut self, py: Python<'_>) -> PyResult<bool> {
        let key = match &self.place {
            Place::At(key, _) => key.clone_ref(py),
            Place::Start => return Ok(false),
            Place::Nowhere | Place::End => return self.go(py, Way::Last, Place::Start),
        };
        self.go(py, Way::Before(key.as_bytes(py)), Place::Start)
    }

    fn last(&mut self, py: Python<'_>) -> PyResult<bool> {
        self.go(py, Way::Last, Place::End)
    }

    fn key<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.item(py).0
    }

    fn value<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.item(py).1
    }

    fn item<'py>(&self, py: Python<'py>) -> (Bound<'py, PyBytes>, Bound<'py, PyBytes>) {
        match &self.place {
            Place::At(key, value) => (key.bind(py).clone(), value.bind(py).clone()),
            _ => (PyBytes::new(py, b""), PyBytes::new(py, b"")),
        }
    }
}
