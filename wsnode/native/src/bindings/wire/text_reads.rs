//! State at a block, transactions and receipts, from the text of parameters to the text of the result, where both are usual.

use alloy_eips::BlockNumHash;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bindings::chain::criteria::LogCriteria;
use crate::bindings::chain::lookup::{written, Write, Written};
use crate::bindings::errors::guard;
use crate::bindings::evm::state::State;
use crate::bindings::numbers::hash;
use crate::bindings::store::Reader;
use crate::chain::rows::Criteria;
use crate::chain::tables::ChainTables;
use crate::error::Error;
use crate::json::Writer;
use crate::state::HistoryView;
use crate::wire::answers;
use crate::wire::parameters;

/// JSON, or the number of the block after which state is asked for, if it is another one.
#[derive(IntoPyObject)]
enum Answer<'py> {
    Text(Bound<'py, PyBytes>),
    AfterBlock(u64),
}

type Answered<'py> = PyResult<Option<Answer<'py>>>;

#[pyfunction]
#[pyo3(signature = (state, number, block_hash, params, /))]
fn read_balance<'py>(
    py: Python<'py>,
    state: &State,
    number: u64,
    block_hash: &[u8],
    params: &[u8],
) -> Answered<'py> {
    answer(py, state, (number, block_hash), parameters::account_parameters(params), answers::write_balance)
}

#[pyfunction]
#[pyo3(signature = (state, number, block_hash, params, /))]
fn read_transaction_count<'py>(
    py: Python<'py>,
    state: &State,
    number: u64,
    block_hash: &[u8],
    params: &[u8],
) -> Answered<'py> {
    answer(
        py,
        state,
        (number, block_hash),
        parameters::account_parameters(params),
        answers::write_transaction_count,
    )
}

#[pyfunction]
#[pyo3(signature = (state, number, block_hash, params, /))]
fn read_code<'py>(
    py: Python<'py>,
    state: &State,
    number: u64,
    block_hash: &[u8],
    params: &[u8],
) -> Answered<'py> {
    answer(py, state, (number, block_hash), parameters::account_parameters(params), answers::write_code)
}

#[pyfunction]
#[pyo3(signature = (state, number, block_hash, params, /))]
fn read_storage<'py>(
    py: Python<'py>,
    state: &State,
    number: u64,
    block_hash: &[u8],
    params: &[u8],
) -> Answered<'py> {
    answer(py, state, (number, block_hash), parameters::slot_parameters(params), answers::write_storage)
}

/// Reads after the block of this number and hash, which is the latest, or the one that is asked about.
fn answer<'py, Place>(
    py: Python<'py>,
    state: &State,
    (number, block_hash): (u64, &[u8]),
    asked: Option<(Place, Option<u64>)>,
    read: impl FnOnce(&HistoryView<'_>, Place, &mut Writer) -> Result<(), Error>,
) -> Answered<'py> {
    let Some((place, block)) = asked else {
        return Ok(None);
    };
    if let Some(another) = block.filter(|block| *block != number) {
        return Ok(Some(Answer::AfterBlock(another)));
    }
    let hash = hash("block hash", block_hash)?;
    let text = guard(|| {
        let mut text = Writer::new(Vec::with_capacity(80));
        read(&state.0.reader.at(BlockNumHash { number, hash })?, place, &mut text)?;
        Ok(text.into_text())
    })?;
    Ok(Some(Answer::Text(PyBytes::new(py, &text))))
}

/// A transaction from parameters as they were sent; nothing also if these are unusual.
#[pyfunction]
#[pyo3(signature = (reader, params, /))]
fn read_transaction<'py>(py: Python<'py>, reader: &Bound<'py, Reader>, params: &[u8]) -> Written<'py> {
    read(py, reader, params, ChainTables::write_transaction)
}

/// A receipt, or null, from the text of parameters; None if these are unusual.
#[pyfunction]
#[pyo3(signature = (reader, params, /))]
fn read_receipt<'py>(py: Python<'py>, reader: &Bound<'py, Reader>, params: &[u8]) -> Written<'py> {
    read(py, reader, params, ChainTables::write_receipt_or_null)
}

fn read<'py>(py: Python<'py>, reader: &Bound<'py, Reader>, params: &[u8], write: Write) -> Written<'py> {
    match parameters::hash_parameters(params) {
        Some(hash) => written(py, reader, &hash, write),
        None => Ok(None),
    }
}

/// What a filter that names at most `most` values and only blocks up to `head` wants of logs, and its first and last block.
#[pyfunction]
#[pyo3(signature = (params, most, head, /))]
fn read_log_filter(params: &[u8], most: usize, head: u64) -> Option<(LogCriteria, u64, u64)> {
    let filter = parameters::log_parameters(params)?;
    let (first, last) = (filter.first.unwrap_or(head), filter.last.unwrap_or(head));
    let criteria = Criteria::new(filter.addresses, filter.topics);
    let is_usual = first <= last && last <= head && criteria.count() <= most;
    is_usual.then_some((LogCriteria(criteria), first, last))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(read_balance, module)?)?;
    module.add_function(wrap_pyfunction!(read_transaction_count, module)?)?;
    module.add_function(wrap_pyfunction!(read_code, module)?)?;
    module.add_function(wrap_pyfunction!(read_storage, module)?)?;
    module.add_function(wrap_pyfunction!(read_transaction, module)?)?;
    module.add_function(wrap_pyfunction!(read_receipt, module)?)?;
    module.add_function(wrap_pyfunction!(read_log_filter, module)?)
}
