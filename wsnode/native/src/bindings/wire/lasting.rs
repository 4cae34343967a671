//! Results that stay true until the store changes, and the frames that ask for nothing else.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::bindings::store::PyEnvironment;
use crate::wire::answers::{Form, Replies, Room};

/// The results of calls without parameters, each true of one version of a store.
#[pyclass(module = "wsnode._native.wire")]
struct LastingResults {
    store: Py<PyEnvironment>,
    entries: Vec<Entry>,
}

struct Entry {
    method: String,
    result: Vec<u8>,
    /// The version of the store that it is true of; None if of all.
    version: Option<usize>,
    meter: Py<PyAny>,
}

impl Entry {
    fn is_true_of(&self, version: usize) -> bool {
        self.version.is_none_or(|of| of == version)
    }
}

/// The replies as frames, the size of the frames that they answer, their number, and the meter of each method with
/// its calls.
type Answered<'py> = (Bound<'py, PyBytes>, usize, usize, Vec<(Py<PyAny>, usize)>);

#[pymethods]
impl LastingResults {
    #[new]
    #[pyo3(signature = (store, /))]
    fn new(store: Py<PyEnvironment>) -> Self {
        Self { store, entries: Vec::new() }
    }

    #[pyo3(signature = (method, result, version, meter, /))]
    fn keep(&mut self, method: String, result: Vec<u8>, version: Option<usize>, meter: Py<PyAny>) {
        self.entries.retain(|entry| entry.method != method);
        self.entries.push(Entry { method, result, version, meter });
    }

    /// The results that are true of `version`, each by its method's name.
    #[pyo3(signature = (version, /))]
    fn of<'py>(&self, py: Python<'py>, version: usize) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        for entry in self.entries.iter().filter(|entry| entry.is_true_of(version)) {
            found.set_item(&entry.method, PyBytes::new(py, &entry.result))?;
        }
        Ok(found)
    }

    #[pyo3(signature = (data, largest, room, /))]
    fn answer<'py>(
        &self,
        py: Python<'py>,
        data: &[u8],
        largest: usize,
        room: usize,
    ) -> Option<Answered<'py>> {
        let version = self.store.get().version().ok()?;
        let entries: Vec<&Entry> = self.entries.iter().filter(|entry| entry.is_true_of(version)).collect();
        let results: Vec<_> = entries.iter().map(|entry| (&*entry.method, &*entry.result)).collect();
        let mut replies = Replies::new(Form::Frames, Room { largest, whole: room }, &results, &[], None);
        let size = replies.answer_frames(data);
        let (text, counted) = replies.into_parts();
        let count = counted.iter().sum();
        let calls = entries.iter().zip(counted).filter(|(_, count)| *count > 0);
        let meters = calls.map(|(entry, count)| (entry.meter.clone_ref(py), count)).collect();
        (size > 0).then(|| (PyBytes::new(py, &text), size, count, meters))
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<LastingResults>()
}
