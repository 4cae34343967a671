//! Counts of answered calls, reported once for all connections that share results.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::bindings::wire::fast_path::FastReplies;
use crate::bindings::wire::versioned_cache::VersionedCache;

/// Bursts of one visit.
pub struct Tally {
    /// Longest time in seconds of bursts that are counted together.
    quick_seconds: f64,
    entries: Vec<Burst>,
}

/// Bursts that are counted together, or a single long one.
struct Burst {
    connection: Py<PyAny>,
    versioned_cache: Py<VersionedCache>,
    counts: Vec<(String, usize)>,
    bytes: usize,
    seconds: f64,
    longest: f64,
}

impl Tally {
    pub fn new(quick_seconds: f64) -> Self {
        Self { quick_seconds, entries: Vec::new() }
    }

    /// Count a burst that was answered in `seconds`.
    pub fn add(
        &mut self,
        py: Python<'_>,
        connection: &Py<PyAny>,
        versioned_cache: &Py<VersionedCache>,
        answered: &FastReplies<'_>,
        seconds: f64,
    ) {
        let is_quick = |seconds: f64| seconds <= self.quick_seconds;
        let is_alike = |entry: &Burst| is_quick(entry.longest) && entry.versioned_cache.is(versioned_cache);
        let index = self.entries.iter().position(|entry| is_quick(seconds) && is_alike(entry));
        let index = index.unwrap_or_else(|| {
            self.entries.push(Burst::new(connection.clone_ref(py), versioned_cache.clone_ref(py)));
            self.entries.len() - 1
        });
        self.entries[index].add(answered, seconds);
    }

    /// Report the counts since the last report to each connection.
    ///
    /// An exception of a connection is reported as unraisable, because the received bytes must not be lost
    /// with it.
    pub fn report(&mut self, py: Python<'_>) {
        for entry in self.entries.drain(..) {
            if let Err(error) = entry.report(py) {
                error.write_unraisable(py, Some(entry.connection.bind(py)));
            }
        }
    }
}

impl Burst {
    fn new(connection: Py<PyAny>, versioned_cache: Py<VersionedCache>) -> Self {
        Self { connection, versioned_cache, counts: Vec::new(), bytes: 0, seconds: 0.0, longest: 0.0 }
    }

    fn report(&self, py: Python<'_>) -> PyResult<()> {
        let counts = PyDict::new(py);
        for (name, count) in &self.counts {
            counts.set_item(name, count)?;
        }
        let figures = (counts, self.bytes, self.seconds, self.longest);
        self.connection.call_method1(py, intern!(py, "count_answered"), figures)?;
        Ok(())
    }

    fn add(&mut self, answered: &FastReplies<'_>, seconds: f64) {
        self.bytes += answered.size;
        self.seconds += seconds;
        self.longest = self.longest.max(seconds);
        for (name, count) in &answered.counts {
            match self.counts.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum += count,
                None => self.counts.push(((*name).to_owned(), *count)),
            }
        }
    }
}
