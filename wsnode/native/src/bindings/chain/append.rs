//! Append, prepend and remove rows of canonical blocks, and read the running totals of logs and difficulty.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use super::lookup::raised;
use crate::bindings::errors::caught;
use crate::bindings::numbers::Number;
use crate::bindings::store::{Reader, Writer};
use crate::chain::append::BlockRows;
use crate::chain::tables;
use crate::state;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("TABLES", PyTuple::new(module.py(), [&tables::NAMES[..], &state::NAMES].concat())?)?;
    module.add_function(wrap_pyfunction!(append_blocks, module)?)?;
    module.add_function(wrap_pyfunction!(remove_last_block, module)?)?;
    module.add_function(wrap_pyfunction!(prepend_block, module)?)?;
    module.add_function(wrap_pyfunction!(remove_first_block, module)?)?;
    module.add_function(wrap_pyfunction!(logs_before, module)?)?;
    module.add_function(wrap_pyfunction!(chain_totals, module)?)
}

type Rows<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// Append consecutive blocks by their header, body and receipts rows, and return the number of logs in the
/// blocks before them.
#[pyfunction]
#[pyo3(signature = (writer, blocks, /))]
fn append_blocks(writer: &Bound<'_, Writer>, blocks: Vec<Rows<'_>>) -> PyResult<u64> {
    let reader = writer.as_super().get();
    let tables = reader.chain()?;
    let blocks: Vec<_> = blocks
        .iter()
        .map(|(header, body, receipts)| BlockRows {
            header: header.as_bytes(),
            body: body.as_bytes(),
            receipts: receipts.as_bytes(),
        })
        .collect();
    caught(|| tables.append(&reader.transaction, &blocks))?.map_err(|error| raised(reader, error))
}

/// Remove the rows of the last canonical block.
#[pyfunction]
#[pyo3(signature = (writer, number, /))]
fn remove_last_block(writer: &Bound<'_, Writer>, number: u64) -> PyResult<()> {
    let reader = writer.as_super().get();
    let tables = reader.chain()?;
    caught(|| tables.remove_last(&reader.transaction, number))?.map_err(|error| raised(reader, error))
}

/// Put a block below the first canonical one, by its header, body and receipts row. Return the number of its
/// first log.
#[pyfunction]
#[pyo3(signature = (writer, header, body, receipts, /))]
fn prepend_block(writer: &Bound<'_, Writer>, header: &[u8], body: &[u8], receipts: &[u8]) -> PyResult<u64> {
    let reader = writer.as_super().get();
    let tables = reader.chain()?;
    let block = BlockRows { header, body, receipts };
    caught(|| tables.prepend(&reader.transaction, &block))?.map_err(|error| raised(reader, error))
}

/// Remove the rows of the first canonical block.
#[pyfunction]
#[pyo3(signature = (writer, number, /))]
fn remove_first_block(writer: &Bound<'_, Writer>, number: u64) -> PyResult<()> {
    let reader = writer.as_super().get();
    let tables = reader.chain()?;
    caught(|| tables.remove_first(&reader.transaction, number))?.map_err(|error| raised(reader, error))
}

/// Return the number of logs in the canonical blocks before this one.
#[pyfunction]
#[pyo3(signature = (reader, number, /))]
fn logs_before(reader: &Bound<'_, Reader>, number: u64) -> PyResult<u64> {
    let reader = reader.get();
    let tables = reader.chain()?;
    let before = caught(|| reader.transaction.with(|txn| tables.totals_before(txn, number)))?;
    before.map(|totals| totals.logs).map_err(|error| raised(reader, error))
}

/// Return the number of logs and the total difficulty of a canonical block and all before it.
#[pyfunction]
#[pyo3(signature = (reader, number, /))]
fn chain_totals(reader: &Bound<'_, Reader>, number: u64) -> PyResult<(u64, Number)> {
    let reader = reader.get();
    let tables = reader.chain()?;
    let found = caught(|| reader.transaction.with(|txn| tables.totals_through(txn, number)))?;
    let totals = found.map_err(|error| raised(reader, error))?;
    Ok((totals.logs, Number(totals.difficulty)))
}
