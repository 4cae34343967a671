//! Words in memory that several processes share.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;

use crate::scoreboard::{charge, slot_of, Rate};

register! {
    classes: SharedWords;
}

/// Shared words, whose buffer keeps the memory in place.
#[pyclass(frozen, module = "wsnode._native.scoreboard")]
struct SharedWords(PyBuffer<u8>);

#[pymethods]
impl SharedWords {
    #[new]
    fn new(memory: PyBuffer<u8>) -> PyResult<Self> {
        let is_aligned = memory.buf_ptr().align_offset(align_of::<AtomicU64>()) == 0;
        if memory.readonly() || !memory.is_c_contiguous() || !is_aligned {
            return Err(PyValueError::new_err("words lie in writable memory, at a multiple of eight"));
        }
        Ok(Self(memory))
    }

    fn load(&self, index: usize) -> PyResult<u64> {
        Ok(self.word(index)?.load(SeqCst))
    }

    fn store(&self, index: usize, value: u64) -> PyResult<()> {
        self.word(index)?.store(value, SeqCst);
        Ok(())
    }

    fn sum(&self, start: usize, step: usize, count: usize) -> PyResult<u64> {
        (0..count).map(|each| self.load(start + each * step)).sum()
    }

    fn clear(&self, start: usize, count: usize) -> PyResult<()> {
        (start..start + count).try_for_each(|index| self.store(index, 0))
    }

    fn slot_of(&self, start: usize, count: usize, name: u64) -> PyResult<Option<usize>> {
        let names = self.words().get(start..start + count).ok_or_else(outside)?;
        Ok(slot_of(names, name))
    }

    #[pyo3(signature = (index, now, *, per_second, burst, dearest, cost))]
    fn charge(
        &self,
        index: usize,
        now: f64,
        per_second: f64,
        burst: f64,
        dearest: f64,
        cost: f64,
    ) -> PyResult<f64> {
        Ok(charge(self.word(index)?, now, Rate { per_second, burst, dearest }, cost))
    }
}

impl SharedWords {
    fn word(&self, index: usize) -> PyResult<&AtomicU64> {
        self.words().get(index).ok_or_else(outside)
    }

    fn words(&self) -> &[AtomicU64] {
        let count = self.0.len_bytes() / size_of::<AtomicU64>();
        // SAFETY: the buffer holds the memory, which is writable, contiguous and aligned. All threads and
        // processes change it only by atomic operations on whole words.
        unsafe { std::slice::from_raw_parts(self.0.buf_ptr().cast(), count) }
    }
}

fn outside() -> PyErr {
    PyIndexError::new_err("there is no such word")
}
