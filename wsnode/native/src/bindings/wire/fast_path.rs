//! Fast path of a session: its messages, answered without Python.

use std::iter::repeat;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::bindings::wire::native_methods::NativeMethods;
use crate::bindings::wire::versioned_cache::VersionedCache;
use crate::wire::native_methods::{Attempts, HeadSnapshot, Replies, ReplyFormat, ReplyLimits};

/// Answers the calls of one session by results that are true now, and by native methods in the present
/// version of the store.
#[pyclass(module = "wsnode._native.wire")]
pub struct FastPath {
    pub cache: Py<VersionedCache>,
    methods: Py<NativeMethods>,
    form: ReplyFormat,
    /// True if blocks have the standard members only.
    is_plain: bool,
    attempts: Attempts,
}

/// Replies to the calls at the start of a connection's received bytes, as far as the engine has answered them.
pub struct FastReplies<'a> {
    /// Replies as frames, or as texts.
    pub text: Vec<u8>,
    /// Length of the answered calls in bytes, not 0.
    pub size: usize,
    /// Number of calls of each method, without zeros.
    pub counts: Vec<(&'a str, usize)>,
    /// Version of the store that was read; None if all results are true for every version.
    version: Option<usize>,
}

/// Replies, length of the answered calls in bytes, number of calls of each method, and moment of the view.
type FastRepliesTuple<'py> = (Bound<'py, PyBytes>, usize, Bound<'py, PyDict>, Py<PyAny>);

#[pymethods]
impl FastPath {
    #[new]
    #[pyo3(signature = (cache, methods, /, *, are_frames, is_plain))]
    fn new(cache: Py<VersionedCache>, methods: Py<NativeMethods>, are_frames: bool, is_plain: bool) -> Self {
        let form = if are_frames { ReplyFormat::Frames } else { ReplyFormat::Bare };
        Self { cache, methods, form, is_plain, attempts: Attempts::default() }
    }

    #[pyo3(signature = (data, largest, room, /))]
    fn try_answer<'py>(
        &mut self,
        py: Python<'py>,
        data: &[u8],
        largest: usize,
        room: usize,
    ) -> PyResult<Option<FastRepliesTuple<'py>>> {
        let limits = ReplyLimits { largest, whole: room };
        let tuple = |replies: FastReplies<'_>, cache: &VersionedCache| {
            let counts = PyDict::new(py);
            for (name, count) in &replies.counts {
                counts.set_item(name, count)?;
            }
            let moment = replies.version.map_or_else(|| py.None(), |version| cache.moment(py, version));
            Ok((PyBytes::new(py, &replies.text), replies.size, counts, moment))
        };
        self.answer(py, data, limits, tuple).transpose()
    }
}

impl FastPath {
    /// Answer the calls at the start of `data`, and return the result of `take` for the replies. None if the
    /// first call is left to Python.
    pub fn answer<T>(
        &mut self,
        py: Python<'_>,
        data: &[u8],
        limits: ReplyLimits,
        take: impl FnOnce(FastReplies<'_>, &VersionedCache) -> T,
    ) -> Option<T> {
        let mut cache = self.cache.bind(py).try_borrow_mut().ok()?;
        let version = cache.version(py)?;
        let results: Vec<_> = cache.true_of(version).map(|entry| (&*entry.method, &*entry.result)).collect();
        let methods = &self.methods.get().0[..];
        let mut replies = Replies::new(self.form, limits, &results, methods, None);
        replies.attempts = self.attempts;
        let mut size = replies.answer_data(data);
        let (text, counted) = if replies.needs_snapshot() {
            let mut unread = Some(replies);
            let mut read_on = |snapshot: HeadSnapshot<'_, '_>| {
                let mut replies = unread.take()?.within(snapshot);
                size += replies.answer_data(&data[size..]);
                self.attempts = replies.attempts;
                Some(replies.into_parts())
            };
            match cache.read(py, version, self.is_plain, &mut read_on).flatten() {
                Some(parts) => parts,
                None => unread?.into_parts(),
            }
        } else {
            replies.into_parts()
        };
        if size == 0 {
            return None;
        }
        let is_of_view = cache.true_of(version).map(|entry| entry.version.is_some()).chain(repeat(true));
        let reads_view = counted.iter().zip(is_of_view).any(|(count, is_of_view)| *count > 0 && is_of_view);
        let names = results.iter().map(|(name, _)| *name);
        let names = names.chain(methods.iter().map(|(name, _)| name.as_str()));
        let counts = names.zip(counted).filter(|(_, count)| *count > 0).collect();
        Some(take(FastReplies { text, size, counts, version: reads_view.then_some(version) }, &cache))
    }
}

register! {
    classes: FastPath;
}
