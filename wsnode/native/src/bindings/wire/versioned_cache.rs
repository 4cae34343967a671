//! Results and heads that stay true until the store of a chain changes.

use alloy_eips::BlockNumHash;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::bindings::evm::state::State;
use crate::bindings::store::PyEnvironment;
use crate::bindings::wire::native_methods::HeadSnapshot;
use crate::chain::tables::ChainError;
use crate::evm::call::WorkBudget;
use crate::wire::native_methods;

/// Results of calls without parameters, and the head for all other calls, each true for one version of a
/// chain's store.
#[pyclass(module = "wsnode._native.wire")]
pub struct VersionedCache {
    /// Chain: an object with a `store`, and with a `state` if calls may read one.
    chain: Py<PyAny>,
    /// Store that the chain had at the last use. The results and the view are of this store.
    store: Option<Py<PyEnvironment>>,
    entries: Vec<CachedResult>,
    view: Option<CachedView>,
}

pub struct CachedResult {
    pub method: String,
    pub result: Vec<u8>,
    /// Version of the store for which the result is true; None for all versions.
    pub version: Option<usize>,
}

/// View that Python has opened.
struct CachedView {
    version: usize,
    /// Head in that version; None if the engine cannot read the view.
    head: Option<BlockNumHash>,
    /// Moment of the view, as Python reports it.
    moment: Py<PyAny>,
}

impl CachedResult {
    fn is_true_of(&self, version: usize) -> bool {
        self.version.is_none_or(|of| of == version)
    }
}

#[pymethods]
impl VersionedCache {
    #[new]
    #[pyo3(signature = (chain, /))]
    fn new(chain: Py<PyAny>) -> Self {
        Self { chain, store: None, entries: Vec::new(), view: None }
    }

    #[pyo3(signature = (method, result, version, /))]
    fn keep(&mut self, py: Python<'_>, method: String, result: Vec<u8>, version: Option<usize>) {
        self.version(py);
        self.entries.retain(|entry| entry.method != method);
        self.entries.push(CachedResult { method, result, version });
    }

    #[pyo3(signature = (version, moment, snapshot, /))]
    fn keep_view(
        &mut self,
        py: Python<'_>,
        version: usize,
        moment: Py<PyAny>,
        snapshot: Option<&HeadSnapshot>,
    ) {
        if self.version(py) == Some(version) {
            self.view = Some(CachedView { version, head: snapshot.map(HeadSnapshot::head), moment });
        }
    }

    #[pyo3(signature = (version, /))]
    fn of<'py>(&mut self, py: Python<'py>, version: usize) -> PyResult<Bound<'py, PyDict>> {
        self.version(py);
        let found = PyDict::new(py);
        for entry in self.true_of(version) {
            found.set_item(&entry.method, PyBytes::new(py, &entry.result))?;
        }
        Ok(found)
    }
}

impl VersionedCache {
    /// Return the present version of the chain's store, or None if it cannot be read. Forget all that is of
    /// another store: a development chain may begin anew in one.
    pub fn version(&mut self, py: Python<'_>) -> Option<usize> {
        let store = self.chain.bind(py).getattr(intern!(py, "store")).ok()?;
        let store = store.cast_into::<PyEnvironment>().ok()?;
        if !self.store.as_ref().is_some_and(|known| known.is(&store)) {
            self.entries.retain(|entry| entry.version.is_none());
            self.view = None;
            self.store = Some(store.clone().unbind());
        }
        store.get().version().ok()
    }

    pub fn true_of(&self, version: usize) -> impl Iterator<Item = &CachedResult> {
        self.entries.iter().filter(move |entry| entry.is_true_of(version))
    }

    /// Return the moment of the view of `version`, or Python's None if it is not known.
    pub fn moment(&self, py: Python<'_>, version: usize) -> Py<PyAny> {
        self.view_of(version).map_or_else(|| py.None(), |view| view.moment.clone_ref(py))
    }

    /// Return the result of `read` in a snapshot of `version`. None if that is not the present version any
    /// more, or Python has not opened a view of it, or it cannot be read.
    pub fn read<T>(
        &self,
        py: Python<'_>,
        version: usize,
        is_plain: bool,
        read: impl FnOnce(native_methods::HeadSnapshot<'_, '_>) -> T,
    ) -> Option<T> {
        let head = self.view_of(version)?.head?;
        let state = self.chain.bind(py).getattr(intern!(py, "state")).ok()?;
        let engine = &state.cast::<State>().ok()?.get().0;
        let store = self.store.as_ref()?.get();
        let chain = store.chain()?;
        let read = store.snapshot().ok()?.with(|txn| {
            if txn.id() != version {
                return Ok(None);
            }
            let (work_budget, mut env) = (WorkBudget::new(Some(0), None), None);
            let block = (head, is_plain);
            let snapshot =
                native_methods::HeadSnapshot::new(engine, chain, txn, block, &work_budget, &mut env);
            Ok::<_, ChainError>(Some(read(snapshot)))
        });
        read.ok().flatten()
    }

    fn view_of(&self, version: usize) -> Option<&CachedView> {
        self.view.as_ref().filter(|view| view.version == version)
    }
}

register! {
    classes: VersionedCache;
}
