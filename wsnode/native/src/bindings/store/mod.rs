//! The store as Python uses it: an environment, snapshots, changes and cursors.

mod cursor;
mod environment;
mod reader;
mod view;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyString;

pub use environment::PyEnvironment;
pub use reader::Reader;
pub use writer::Writer;

use super::errors::{damaged, set_damage};
use crate::chain::tables::ChainTables;
use crate::state::Tables as StateTables;
use crate::store::{free_pages, inspection, Environment, StoreError as Failure, Table};

create_exception!(wsnode._native.store, StoreError, PyException);
create_exception!(wsnode._native.store, DiskFullError, StoreError);
create_exception!(wsnode._native.store, SnapshotLostError, StoreError);
create_exception!(wsnode._native.store, TooManySnapshotsError, StoreError);
create_exception!(wsnode._native.store, DamagedRowError, StoreError);
create_exception!(wsnode._native.store, StoreMovedError, StoreError);
create_exception!(wsnode._native.store, StoreFailedError, StoreError);

register! {
    classes: environment::PyEnvironment, reader::Reader, writer::Writer, cursor::Cursor;
    errors: StoreError, DamagedRowError, DiskFullError, StoreMovedError, StoreFailedError, TooManySnapshotsError,
        SnapshotLostError;
    functions: release_free_pages, inspect_pages;
    also: set_class_attributes;
}

/// Set the attributes of a damaged row's error in its type too, from which `stubtest` learns of them.
fn set_class_attributes(module: &Bound<'_, PyModule>) -> PyResult<()> {
    set_damage(&module.py().get_type::<DamagedRowError>(), "", &[])
}

#[pyfunction]
#[pyo3(signature = (path, /))]
fn release_free_pages(py: Python<'_>, path: PathBuf) -> PyResult<u64> {
    py.detach(|| free_pages::release(&path)).map_err(raised)
}

/// Page size in bytes, pages, free pages, version; name, entries and pages of each tree; process and version
/// of each reader.
type InspectionTuple = (u64, u64, u64, u64, Vec<(String, u64, u64)>, Vec<(u32, u64)>);

#[pyfunction]
#[pyo3(signature = (path, /))]
fn inspect_pages(py: Python<'_>, path: PathBuf) -> PyResult<InspectionTuple> {
    let found = py.detach(|| inspection::inspect(&path)).map_err(raised)?;
    let trees = found.trees.into_iter().map(|tree| (tree.name, tree.entries, tree.pages)).collect();
    Ok((found.page_size, found.pages, found.free, found.version, trees, found.readers))
}

/// Open file, with the Python objects of its tables.
struct Store {
    environment: Arc<Environment>,
    names: Vec<Py<PyAny>>,
    /// Tables of a chain; None in a store of another kind.
    chain: Option<ChainTables>,
    /// Tables of a chain's state; None in a store of another kind.
    state: Option<StateTables>,
}

type Shared = Arc<Store>;

impl Store {
    /// Return the table of `object`, compared by identity; fail with `StoreError` if the file has no such
    /// table.
    fn table(&self, object: &Bound<'_, PyAny>) -> PyResult<Table> {
        match self.names.iter().position(|name| name.is(object)) {
            Some(place) => Ok(Table::at(place)),
            None => Err(StoreError::new_err(format!("the store has no {object}"))),
        }
    }

    fn raised(&self, failure: Failure) -> PyErr {
        raised(self.environment.explained(failure))
    }
}

/// Convert a failure to its Python exception.
pub fn raised(failure: Failure) -> PyErr {
    let text = failure.to_string();
    match failure {
        Failure::DamagedRow(row) => damaged(DamagedRowError::new_err(text), &row),
        Failure::NoSpace(_) => DiskFullError::new_err(text),
        Failure::Moved(_) => StoreMovedError::new_err(text),
        Failure::Failed(_) => StoreFailedError::new_err(text),
        Failure::TooManySnapshots => TooManySnapshotsError::new_err(text),
        Failure::Lost | Failure::Ended | Failure::Closed => SnapshotLostError::new_err(text),
        _ => StoreError::new_err(text),
    }
}

fn name_of(table: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(table.getattr("name")?.cast::<PyString>()?.to_string())
}
