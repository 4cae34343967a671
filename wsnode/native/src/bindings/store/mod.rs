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

use crate::chain::tables::ChainTables;
use crate::store::{free_pages, Environment, StoreError as Failure, Table};

create_exception!(wsnode._native.store, StoreError, PyException, "The store cannot be read or written.");
create_exception!(
    wsnode._native.store,
    DiskFullError,
    StoreError,
    "The file system has no room for the change; nothing of it was kept."
);
create_exception!(
    wsnode._native.store,
    SnapshotLostError,
    StoreError,
    "The snapshot has ended: it or the file was closed, or the map enlarged; then asking again succeeds."
);

create_exception!(
    wsnode._native.store,
    TooManySnapshotsError,
    StoreError,
    "The processes of the folder read as many versions of the file as there can be; later there may be room."
);

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("StoreError", py.get_type::<StoreError>())?;
    module.add("DiskFullError", py.get_type::<DiskFullError>())?;
    module.add("TooManySnapshotsError", py.get_type::<TooManySnapshotsError>())?;
    module.add("SnapshotLostError", py.get_type::<SnapshotLostError>())?;
    module.add_class::<environment::PyEnvironment>()?;
    module.add_class::<reader::Reader>()?;
    module.add_class::<writer::Writer>()?;
    module.add_class::<cursor::Cursor>()?;
    module.add_function(wrap_pyfunction!(release_free_pages, module)?)
}

#[pyfunction]
#[pyo3(signature = (path, /))]
fn release_free_pages(py: Python<'_>, path: PathBuf) -> PyResult<u64> {
    py.detach(|| free_pages::release(&path)).map_err(raised)
}

/// An open file and the objects that stand for its tables.
struct Store {
    environment: Environment,
    names: Vec<Py<PyAny>>,
    /// The tables of a chain, if it is one's.
    chain: Option<ChainTables>,
}

type Shared = Arc<Store>;

impl Store {
    /// The handle of the table that `object` stands for: it equals itself alone.
    fn table(&self, object: &Bound<'_, PyAny>) -> PyResult<Table> {
        match self.names.iter().position(|name| name.is(object)) {
            Some(index) => Ok(self.environment.tables[index]),
            None => Err(StoreError::new_err(format!("the store has no {object}"))),
        }
    }

    fn raised(&self, failure: Failure) -> PyErr {
        raised(self.environment.explained(failure))
    }
}

fn raised(failure: Failure) -> PyErr {
    let text = failure.to_string();
    match failure {
        Failure::NoSpace(_) => DiskFullError::new_err(text),
        Failure::TooManySnapshots => TooManySnapshotsError::new_err(text),
        Failure::Lost | Failure::Ended | Failure::Closed => SnapshotLostError::new_err(text),
        _ => StoreError::new_err(text),
    }
}

fn name_of(table: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(table.getattr("name")?.cast::<PyString>()?.to_string())
}
