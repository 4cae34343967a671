//! Results that stay true until the store changes, and replies from them and from native methods.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::bindings::store::PyEnvironment;
use crate::bindings::wire::native_methods::{HeadSnapshot, NativeMethods};
use crate::wire::native_methods::{self, NativeMethod, Replies, ReplyFormat, ReplyLimits};

/// Results of calls without parameters, each true for one version of a store.
#[pyclass(module = "wsnode._native.wire")]
pub struct VersionedCache {
    store: Py<PyEnvironment>,
    entries: Vec<CachedResult>,
}

struct CachedResult {
    method: String,
    result: Vec<u8>,
    /// Version of the store for which the result is true; None for all versions.
    version: Option<usize>,
}

impl CachedResult {
    fn is_true_of(&self, version: usize) -> bool {
        self.version.is_none_or(|of| of == version)
    }
}

/// Replies as frames, length of the answered frames, number of calls, and number of calls of each method.
type Answered<'py> = (Bound<'py, PyBytes>, usize, usize, Bound<'py, PyDict>);

/// Replies to the frames at the start of some bytes.
pub struct FrameReplies<'a> {
    /// Replies as frames.
    pub text: Vec<u8>,
    /// Length of the answered frames in bytes, not 0.
    pub size: usize,
    /// Number of calls of each method, without zeros.
    pub counts: Vec<(&'a str, usize)>,
}

#[pymethods]
impl VersionedCache {
    #[new]
    #[pyo3(signature = (store, /))]
    fn new(store: Py<PyEnvironment>) -> Self {
        Self { store, entries: Vec::new() }
    }

    #[pyo3(signature = (method, result, version, /))]
    fn keep(&mut self, method: String, result: Vec<u8>, version: Option<usize>) {
        self.entries.retain(|entry| entry.method != method);
        self.entries.push(CachedResult { method, result, version });
    }

    /// Return the results that are true for `version`, by method name.
    #[pyo3(signature = (version, /))]
    fn of<'py>(&self, py: Python<'py>, version: usize) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        for (method, result) in self.true_of(version) {
            found.set_item(method, PyBytes::new(py, result))?;
        }
        Ok(found)
    }

    /// Answer the frames at the start of `data` by results of now. With a `version`, answer them by that
    /// version's results and by the `methods` in its `snapshot`.
    #[pyo3(signature = (data, largest, room, methods=None, version=None, snapshot=None, /))]
    #[expect(clippy::too_many_arguments, reason = "each is one of Python's")]
    fn answer<'py>(
        &self,
        py: Python<'py>,
        data: &[u8],
        largest: usize,
        room: usize,
        methods: Option<&NativeMethods>,
        version: Option<usize>,
        snapshot: Option<&HeadSnapshot>,
    ) -> PyResult<Option<Answered<'py>>> {
        let room = ReplyLimits { largest, whole: room };
        let methods = methods.map_or(&[][..], |methods| &methods.0);
        let answer = |snapshot: Option<native_methods::HeadSnapshot<'_, '_>>| match version {
            None => self.answer_frames(data, room),
            Some(version) => self.answer_by(version, methods, snapshot, data, room),
        };
        let answered = match snapshot {
            None => answer(None),
            Some(snapshot) => snapshot.read(|snapshot| Ok(answer(Some(snapshot))))?.flatten(),
        };
        let Some(FrameReplies { text, size, counts }) = answered else {
            return Ok(None);
        };
        let by_name = PyDict::new(py);
        for (name, count) in &counts {
            by_name.set_item(name, count)?;
        }
        let calls = counts.iter().map(|(_, count)| count).sum();
        Ok(Some((PyBytes::new(py, &text), size, calls, by_name)))
    }
}

impl VersionedCache {
    /// Answer the frames at the start of `data` by results of now. None if the first one is left to Python.
    pub fn answer_frames(&self, data: &[u8], room: ReplyLimits) -> Option<FrameReplies<'_>> {
        self.answer_by(self.store.get().version().ok()?, &[], None, data, room)
    }

    fn answer_by<'a>(
        &'a self,
        version: usize,
        methods: &'a [(String, NativeMethod)],
        snapshot: Option<native_methods::HeadSnapshot<'_, '_>>,
        data: &[u8],
        room: ReplyLimits,
    ) -> Option<FrameReplies<'a>> {
        let results: Vec<_> = self.true_of(version).collect();
        let mut replies = Replies::new(ReplyFormat::Frames, room, &results, methods, snapshot);
        let size = Some(replies.answer_frames(data)).filter(|size| *size > 0)?;
        let (text, counted) = replies.into_parts();
        let names = results.iter().map(|(name, _)| *name);
        let names = names.chain(methods.iter().map(|(name, _)| name.as_str()));
        let counts = names.zip(counted).filter(|(_, count)| *count > 0).collect();
        Some(FrameReplies { text, size, counts })
    }

    fn true_of(&self, version: usize) -> impl Iterator<Item = (&str, &[u8])> {
        let entries = self.entries.iter().filter(move |entry| entry.is_true_of(version));
        entries.map(|entry| (&*entry.method, &*entry.result))
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<VersionedCache>()
}
