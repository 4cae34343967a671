//! Rows as JSON text.

use std::cell::RefCell;

use alloy_primitives::U256;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyList};

use super::row::Row;
use crate::chain::rows::{BodyRow, HeaderRow, ReceiptsRow, RowError};
use crate::error::Error;
use crate::json::{self, BlockContext, BlockStyle, BodyList, TotalDifficulty, Writer};

register! {
    functions: render_block, render_uncle, render_transaction, render_receipts, render_header,
        render_access_list, render_payload, render_payload_body, render_each_log;
}

pub fn corrupt(error: RowError) -> PyErr {
    Error::from(error).into()
}

/// Longest buffer in bytes that is kept for the next text. Beyond it, memory counts more than warm pages.
const KEPT_BUFFER: usize = 1 << 20;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Return the bytes that `write` writes, and its result.
pub fn rendered<'py, T>(
    py: Python<'py>,
    write: impl FnOnce(&mut Writer) -> Result<T, RowError>,
) -> PyResult<(Bound<'py, PyBytes>, T)> {
    try_rendered(py, write).map_err(corrupt)
}

/// Return the bytes that `write` writes, and its result. The error may be of any type.
pub fn try_rendered<'py, T, E>(
    py: Python<'py>,
    write: impl FnOnce(&mut Writer) -> Result<T, E>,
) -> Result<(Bound<'py, PyBytes>, T), E> {
    let mut text = Writer::new(BUFFER.take());
    let outcome = write(&mut text);
    let mut text = text.into_text();
    let bytes = outcome.map(|outcome| (PyBytes::new(py, &text), outcome));
    text.clear();
    if text.capacity() <= KEPT_BUFFER {
        BUFFER.set(text);
    }
    bytes
}

/// Return the bytes that `write` writes, or None if it returns false.
fn rendered_if<'py>(
    py: Python<'py>,
    write: impl FnOnce(&mut Writer) -> Result<bool, RowError>,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    rendered(py, write).map(|(bytes, exists)| exists.then_some(bytes))
}

#[pyfunction]
#[pyo3(signature = (encoded, /))]
fn render_access_list<'py>(py: Python<'py>, encoded: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    rendered(py, |text| json::render_access_list(text, encoded)).map(|(bytes, ())| bytes)
}

#[pyfunction]
#[pyo3(signature = (header, body, *, full, pending=false, with_total_difficulty=false, total_difficulty=None))]
fn render_block<'py>(
    py: Python<'py>,
    header: &[u8],
    body: Row<'_>,
    full: bool,
    pending: bool,
    with_total_difficulty: bool,
    total_difficulty: Option<&Bound<'py, PyInt>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let total_difficulty = match total_difficulty {
        _ if !with_total_difficulty => TotalDifficulty::Absent,
        None => TotalDifficulty::Unknown,
        Some(value) => TotalDifficulty::Known(wide_integer(value)?),
    };
    let style = BlockStyle { full, pending, total_difficulty };
    let write =
        |text: &mut Writer| json::render_block(text, &HeaderRow::new(header)?, &BodyRow::new(&body)?, &style);
    rendered(py, write).map(|(bytes, ())| bytes)
}

#[pyfunction]
#[pyo3(signature = (body, index, *, with_total_difficulty=false))]
fn render_uncle<'py>(
    py: Python<'py>,
    body: Row<'_>,
    index: usize,
    with_total_difficulty: bool,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let total_difficulty =
        if with_total_difficulty { TotalDifficulty::Unknown } else { TotalDifficulty::Absent };
    rendered_if(py, |text| json::render_uncle(text, &BodyRow::new(&body)?, index, total_difficulty))
}

#[pyfunction]
#[pyo3(signature = (header, body, index, *, pending=false))]
fn render_transaction<'py>(
    py: Python<'py>,
    header: &[u8],
    body: Row<'_>,
    index: usize,
    pending: bool,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    rendered_if(py, |text| {
        let (header, body) = (HeaderRow::new(header)?, BodyRow::new(&body)?);
        json::render_transaction(text, &header, &body, index, pending)
    })
}

#[pyfunction]
fn render_receipts<'py>(
    py: Python<'py>,
    header: &[u8],
    body: Row<'_>,
    receipts: Row<'_>,
) -> PyResult<Bound<'py, PyBytes>> {
    let write = |text: &mut Writer| {
        let (header, body) = (HeaderRow::new(header)?, BodyRow::new(&body)?);
        json::render_receipts(text, &header, &body, &ReceiptsRow::new(&receipts)?)
    };
    rendered(py, write).map(|(bytes, ())| bytes)
}

#[pyfunction]
fn render_header<'py>(py: Python<'py>, header: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    rendered(py, |text| json::render_header(text, &HeaderRow::new(header)?)).map(|(bytes, ())| bytes)
}

/// Return the integer as 256 bits, or an OverflowError if it is negative or longer.
fn wide_integer(value: &Bound<'_, PyInt>) -> PyResult<U256> {
    if let Ok(value) = value.extract::<u64>() {
        return Ok(U256::from(value));
    }
    let bytes = value.call_method1("to_bytes", (32, "big"))?;
    Ok(U256::from_be_slice(bytes.cast::<PyBytes>()?.as_bytes()))
}

#[pyfunction]
#[pyo3(signature = (header, body, access_list=None))]
fn render_payload<'py>(
    py: Python<'py>,
    header: &[u8],
    body: Row<'_>,
    access_list: Option<&[u8]>,
) -> PyResult<Bound<'py, PyBytes>> {
    let write = |text: &mut Writer| {
        json::render_payload(text, &HeaderRow::new(header)?, &BodyRow::new(&body)?, access_list)
    };
    rendered(py, write).map(|(bytes, ())| bytes)
}

#[pyfunction]
#[pyo3(signature = (body, access_list=None, *, with_access_list=false))]
fn render_payload_body<'py>(
    py: Python<'py>,
    body: Row<'_>,
    access_list: Option<&[u8]>,
    with_access_list: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let list = match access_list {
        _ if !with_access_list => BodyList::Absent,
        None => BodyList::Null,
        Some(encoded) => BodyList::Rlp(encoded),
    };
    rendered(py, |text| json::render_payload_body(text, &BodyRow::new(&body)?, list)).map(|(bytes, ())| bytes)
}

#[pyfunction]
#[pyo3(signature = (header, body, receipts, indices, *, removed=false))]
fn render_each_log<'py>(
    py: Python<'py>,
    header: &[u8],
    body: Row<'_>,
    receipts: Row<'_>,
    indices: Vec<usize>,
    removed: bool,
) -> PyResult<Bound<'py, PyList>> {
    let header = HeaderRow::new(header).map_err(corrupt)?;
    let (body, receipts) =
        (BodyRow::new(&body).map_err(corrupt)?, ReceiptsRow::new(&receipts).map_err(corrupt)?);
    let block = BlockContext { removed, ..BlockContext::new(&header, false).map_err(corrupt)? };
    let texts = PyList::empty(py);
    for number in indices {
        let write = |text: &mut Writer| json::render_log(text, &block, &body, &receipts, number);
        texts.append(rendered(py, write)?.0)?;
    }
    Ok(texts)
}
