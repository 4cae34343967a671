//! Append, prepend and remove rows of canonical blocks, and read the running totals of logs and difficulty.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::lookup::raised;
use crate::bindings::errors::caught;
use crate::bindings::numbers::Number;
use crate::bindings::store::{Reader, Writer};
use crate::chain::append::BlockRows;

register! {
    functions: append_blocks, remove_last_block, prepend_block, remove_first_block, logs_before, chain_totals;
}

type BlockRowsTuple<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

#[pyfunction]
#[pyo3(signature = (writer, blocks, /))]
fn append_blocks(writer: &Bound<'_, Writer>, blocks: Vec<BlockRowsTuple<'_>>) -> PyResult<u64> {
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

#[pyfunction]
#[pyo3(signature = (writer, number, /))]
fn remove_last_block(writer: &Bound<'_, Writer>, number: u64) -> PyResult<()> {
    let reader = writer.as_super().get();
    let tables = reader.chain()?;
    caught(|| tables.remove_last(&reader.transaction, number))?.map_err(|error| raised(reader, error))
}

#[pyfunction]
#[pyo3(signature = (writer, header, body, receipts, /))]
fn prepend_block(writer: &Bound<'_, Writer>, header: &[u8], body: &[u8], receipts: &[u8]) -> PyResult<u64> {
    let reader = writer.as_super().get();
    let tables = reader.chain()?;
    let block = BlockRows { header, body, receipts };
    caught(|| tables.prepend(&reader.transaction, &block))?.map_err(|error| raised(reader, error))
}

#[pyfunction]
#[pyo3(signature = (writer, number, /))]
fn remove_first_block(writer: &Bound<'_, Writer>, number: u64) -> PyResult<()> {
    let reader = writer.as_super().get();
    let tables = reader.chain()?;
    caught(|| tables.remove_first(&reader.transaction, number))?.map_err(|error| raised(reader, error))
}

#[pyfunction]
#[pyo3(signature = (reader, number, /))]
fn logs_before(reader: &Bound<'_, Reader>, number: u64) -> PyResult<u64> {
    let reader = reader.get();
    let tables = reader.chain()?;
    let before = caught(|| reader.transaction.with(|txn| tables.totals_before(txn, number)))?;
    before.map(|totals| totals.logs).map_err(|error| raised(reader, error))
}

#[pyfunction]
#[pyo3(signature = (reader, number, /))]
fn chain_totals(reader: &Bound<'_, Reader>, number: u64) -> PyResult<(u64, Number)> {
    let reader = reader.get();
    let tables = reader.chain()?;
    let found = caught(|| reader.transaction.with(|txn| tables.totals_through(txn, number)))?;
    let totals = found.map_err(|error| raised(reader, error))?;
    Ok((totals.logs, Number(totals.difficulty)))
}
