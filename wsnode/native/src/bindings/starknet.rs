//! Starknet's hashes and tries for Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use starknet_types_core::felt::Felt;

use crate::starknet::class_hash::{self, EntryPoints};
use crate::starknet::commitment;
use crate::starknet::felts::{felts, records, PackingError};
use crate::starknet::state::{StateChange, StateTries};

impl From<PackingError> for PyErr {
    fn from(error: PackingError) -> Self {
        PyValueError::new_err(error.to_string())
    }
}

/// The tries of a whole Starknet state, in memory.
#[pyclass(name = "StarknetTries", module = "wsnode._native.starknet")]
#[derive(Default)]
struct StarknetTries(StateTries);

#[pymethods]
impl StarknetTries {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn apply(
        &mut self,
        py: Python<'_>,
        storage: &[u8],
        class_hashes: &[u8],
        nonces: &[u8],
        compiled_classes: &[u8],
    ) -> PyResult<()> {
        let change = change(storage, class_hashes, nonces, compiled_classes)?;
        py.detach(|| self.0.apply(&change));
        Ok(())
    }

    fn root<'py>(&mut self, py: Python<'py>, always_joined: bool) -> Bound<'py, PyBytes> {
        let root = py.detach(|| self.0.root(always_joined));
        to_bytes(py, root)
    }
}

#[pyfunction]
fn starknet_diff_commitment<'py>(
    py: Python<'py>,
    storage: &[u8],
    class_hashes: &[u8],
    nonces: &[u8],
    compiled_classes: &[u8],
    deprecated_classes: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let change = change(storage, class_hashes, nonces, compiled_classes)?;
    let deprecated = felts(deprecated_classes)?;
    Ok(to_bytes(py, py.detach(|| commitment::state_diff_commitment(&change, &deprecated))))
}

#[pyfunction]
fn sierra_class_hash<'py>(
    py: Python<'py>,
    version: &str,
    external: &[u8],
    l1_handler: &[u8],
    constructor: &[u8],
    abi: &str,
    program: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let entry_points = entry_points(external, l1_handler, constructor)?;
    let program = felts(program)?;
    Ok(to_bytes(py, py.detach(|| class_hash::sierra(version, &entry_points, abi, &program))))
}

#[pyfunction]
fn cairo0_class_hash<'py>(
    py: Python<'py>,
    external: &[u8],
    l1_handler: &[u8],
    constructor: &[u8],
    builtins: Vec<String>,
    hinted: &[u8],
    bytecode: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let entry_points = entry_points(external, l1_handler, constructor)?;
    let bytecode = felts(bytecode)?;
    Ok(to_bytes(py, py.detach(|| class_hash::cairo0(&entry_points, &builtins, hinted, &bytecode))))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<StarknetTries>()?;
    module.add_function(wrap_pyfunction!(starknet_diff_commitment, module)?)?;
    module.add_function(wrap_pyfunction!(sierra_class_hash, module)?)?;
    module.add_function(wrap_pyfunction!(cairo0_class_hash, module)?)
}

fn change(
    storage: &[u8],
    class_hashes: &[u8],
    nonces: &[u8],
    compiled: &[u8],
) -> Result<StateChange, PackingError> {
    Ok(StateChange {
        storage: records(storage)?,
        class_hashes: records(class_hashes)?,
        nonces: records(nonces)?,
        compiled_classes: records(compiled)?,
    })
}

fn entry_points(external: &[u8], l1_handler: &[u8], constructor: &[u8]) -> Result<EntryPoints, PackingError> {
    Ok(EntryPoints {
        external: records(external)?,
        l1_handler: records(l1_handler)?,
        constructor: records(constructor)?,
    })
}

fn to_bytes(py: Python<'_>, felt: Felt) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &felt.to_bytes_be())
}
