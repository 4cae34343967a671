//! Transactions and logs in a snapshot of a chain.

use alloy_primitives::B256;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyRange};

use super::render::{corrupt, try_rendered};
use crate::bindings::errors::caught;
use crate::bindings::numbers;
use crate::bindings::store::Reader;
use crate::chain::tables::{ChainError, ChainTables, Txn};
use crate::json::Writer as Text;

register! {
    functions: find_transaction, stored_transaction, stored_receipt, locate_logs, blocks_of_logs, stored_logs,
        stored_log_texts;
}

#[pyfunction]
#[pyo3(signature = (reader, hash, /))]
fn find_transaction(reader: &Bound<'_, Reader>, hash: &[u8]) -> PyResult<Option<(u64, usize)>> {
    let (reader, hash) = (reader.get(), numbers::hash("transaction hash", hash)?);
    let tables = reader.chain()?;
    let find = |txn: &Txn<'_>| {
        let location = tables.location(txn, &hash)?;
        Ok::<_, ChainError>(location.map(|location| (u64::from_be_bytes(location.key), location.index)))
    };
    caught(|| reader.transaction.with(find))?.map_err(|error| raised(reader, error))
}

pub type Written<'py> = PyResult<Option<Bound<'py, PyBytes>>>;

#[pyfunction]
#[pyo3(signature = (reader, hash, /))]
fn stored_transaction<'py>(py: Python<'py>, reader: &Bound<'py, Reader>, hash: &[u8]) -> Written<'py> {
    written(py, reader, &numbers::hash("transaction hash", hash)?, ChainTables::write_transaction)
}

#[pyfunction]
#[pyo3(signature = (reader, hash, /))]
fn stored_receipt<'py>(py: Python<'py>, reader: &Bound<'py, Reader>, hash: &[u8]) -> Written<'py> {
    written(py, reader, &numbers::hash("transaction hash", hash)?, ChainTables::write_receipt)
}

pub type Located<'py> = Vec<(u64, Bound<'py, PyAny>)>;

// As a list of Python's numbers, `positions` took a tenth of a search for 10,000 logs.
#[pyfunction]
#[pyo3(signature = (reader, base, positions, start, most, /))]
fn locate_logs<'py>(
    py: Python<'py>,
    reader: &Bound<'py, Reader>,
    base: u64,
    positions: &[u8],
    start: usize,
    most: usize,
) -> PyResult<(Located<'py>, usize)> {
    let (positions, []) = positions.as_chunks::<4>() else {
        return Err(PyValueError::new_err("positions have four bytes each"));
    };
    let (reader, count) = (reader.get(), positions.len());
    let tables = reader.chain()?;
    let log_at = |index: usize| base + u64::from(u32::from_ne_bytes(positions[index]));
    let (mut located, mut index) = (Vec::new(), start);
    while index < count && located.len() < most {
        let mut log = log_at(index);
        let block = caught(|| reader.transaction.with(|txn| tables.block_of_log(txn, log)))?
            .map_err(|error| raised(reader, error))?;
        let mut indices = Vec::new();
        while log < block.end {
            indices.push(log - block.first);
            index += 1;
            if index == count {
                break;
            }
            log = log_at(index);
        }
        located.push((block.number, ascending(py, indices)?));
    }
    Ok((located, index))
}

/// Return ascending numbers as a range if they are consecutive, else as a list. A range is cheaper, and logs
/// of one kind are often neighbours.
pub fn ascending(py: Python<'_>, numbers: Vec<u64>) -> PyResult<Bound<'_, PyAny>> {
    if let (Some(first), Some(last)) = (numbers.first(), numbers.last()) {
        if last - first == numbers.len() as u64 - 1 {
            return Ok(PyRange::new(py, *first as isize, *last as isize + 1)?.into_any());
        }
    }
    Ok(PyList::new(py, numbers)?.into_any())
}

#[pyfunction]
#[pyo3(signature = (reader, begin, end, most, /))]
fn blocks_of_logs(
    reader: &Bound<'_, Reader>,
    begin: u64,
    end: u64,
    most: usize,
) -> PyResult<(Vec<u64>, u64)> {
    let reader = reader.get();
    let tables = reader.chain()?;
    let find = |txn: &Txn<'_>| {
        let (mut blocks, mut log) = (Vec::new(), begin);
        while log < end && blocks.len() < most {
            let block = tables.block_of_log(txn, log)?;
            blocks.push(block.number);
            log = block.end;
        }
        Ok::<_, ChainError>((blocks, log))
    };
    caught(|| reader.transaction.with(find))?.map_err(|error| raised(reader, error))
}

#[pyfunction]
#[pyo3(signature = (reader, blocks, /))]
fn stored_logs<'py>(
    py: Python<'py>,
    reader: &Bound<'py, Reader>,
    blocks: Vec<(u64, Option<Vec<usize>>)>,
) -> PyResult<Bound<'py, PyBytes>> {
    let reader = reader.get();
    let tables = reader.chain()?;
    let write = |text: &mut Text| reader.transaction.with(|txn| tables.write_logs(txn, blocks, text));
    let text = caught(|| try_rendered(py, write))?;
    text.map(|(text, ())| text).map_err(|error| raised(reader, error))
}

#[pyfunction]
#[pyo3(signature = (reader, blocks, room, /))]
fn stored_log_texts<'py>(
    py: Python<'py>,
    reader: &Bound<'py, Reader>,
    blocks: Vec<(u64, Vec<usize>)>,
    room: usize,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let reader = reader.get();
    let tables = reader.chain()?;
    let mut texts = Vec::new();
    let take = |text: &[u8]| texts.push(PyBytes::new(py, text));
    caught(|| reader.transaction.with(|txn| tables.each_log(txn, blocks, room, take)))?
        .map_err(|error| raised(reader, error))?;
    Ok(texts)
}

pub type WriteText = fn(&ChainTables, &Txn<'_>, &B256, &mut Text) -> Result<bool, ChainError>;

/// Return the text that `write` writes of a transaction, or None if there is none.
pub fn written<'py>(
    py: Python<'py>,
    reader: &Bound<'py, Reader>,
    hash: &B256,
    write: WriteText,
) -> Written<'py> {
    let reader = reader.get();
    let tables = reader.chain()?;
    let write = |text: &mut Text| reader.transaction.with(|txn| write(tables, txn, hash, text));
    let (text, exists) = caught(|| try_rendered(py, write))?.map_err(|error| raised(reader, error))?;
    Ok(exists.then_some(text))
}

pub fn raised(reader: &Reader, error: ChainError) -> PyErr {
    match error {
        ChainError::Store(failure) => reader.raised(failure),
        ChainError::Row(error) => corrupt(error),
    }
}
