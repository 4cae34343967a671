//! Members of rows that Python uses.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use super::render::corrupt;
use super::row::Row;
use crate::chain::rows::transaction::system::SystemFields;
use crate::chain::rows::{self, BodyRow, HeaderRow, LogRow, ReceiptsRow};
use crate::json::Envelope;

register! {
    functions: block_rlp, transaction_count, transaction_hashes, transaction_parties, ommer_hashes, log_count,
        log_entries, log_values;
}

#[pyfunction]
fn log_count(receipts: Row<'_>) -> PyResult<usize> {
    ReceiptsRow::new(&receipts).map(|row| row.log_count()).map_err(corrupt)
}

type LogEntryTuple<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

#[pyfunction]
fn log_entries<'py>(
    py: Python<'py>,
    receipts: &Bound<'py, PyAny>,
    first: u64,
) -> PyResult<Vec<LogEntryTuple<'py>>> {
    let rows = receipts.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    let rows = rows
        .iter()
        .map(|row| ReceiptsRow::new(row.extract()?).map_err(corrupt))
        .collect::<PyResult<Vec<_>>>()?;
    let entries = rows::log_entries(&rows, first).map_err(corrupt)?;
    Ok(entries.iter().map(|(key, numbers)| (PyBytes::new(py, key), PyBytes::new(py, numbers))).collect())
}

#[pyfunction]
fn block_rlp<'py>(py: Python<'py>, header: &[u8], body: Row<'_>) -> PyResult<Bound<'py, PyBytes>> {
    let encode = || rows::block_rlp(&HeaderRow::new(header)?, &BodyRow::new(&body)?);
    encode().map(|block| PyBytes::new(py, &block)).map_err(corrupt)
}

#[pyfunction]
fn transaction_count(body: Row<'_>) -> PyResult<usize> {
    BodyRow::new(&body).map(|body| body.transaction_count()).map_err(corrupt)
}

#[pyfunction]
fn transaction_hashes<'py>(py: Python<'py>, body: Row<'_>) -> PyResult<Bound<'py, PyBytes>> {
    let hashes = BodyRow::new(&body).and_then(|body| body.transaction_hashes());
    hashes.map(|hashes| PyBytes::new(py, hashes)).map_err(corrupt)
}

type Parties<'py> = (Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>);

#[pyfunction]
fn transaction_parties<'py>(py: Python<'py>, body: Row<'_>) -> PyResult<Vec<Parties<'py>>> {
    let body = BodyRow::new(&body).map_err(corrupt)?;
    let parties = body.transaction_rows().map(|row| {
        let row = row?;
        let receiver = match SystemFields::read(row.envelope)? {
            Some(fields) => fields.recipient(),
            None => Envelope::new(row.envelope)?.to,
        };
        let receiver = receiver.map(|receiver| PyBytes::new(py, receiver));
        Ok((PyBytes::new(py, row.sender.as_slice()), receiver))
    });
    parties.collect::<Result<_, _>>().map_err(corrupt)
}

#[pyfunction]
fn ommer_hashes<'py>(py: Python<'py>, body: Row<'_>) -> PyResult<Bound<'py, PyBytes>> {
    let body = BodyRow::new(&body).map_err(corrupt)?;
    let hashes: Result<Vec<_>, _> = body.ommer_rows().map(|ommer| ommer.map(|ommer| ommer.hash.0)).collect();
    hashes.map(|hashes| PyBytes::new(py, hashes.as_flattened())).map_err(corrupt)
}

type LogValues<'py> = (Bound<'py, PyBytes>, Bound<'py, PyTuple>);

#[pyfunction]
fn log_values<'py>(py: Python<'py>, receipts: Row<'_>) -> PyResult<Vec<LogValues<'py>>> {
    let receipts = ReceiptsRow::new(&receipts).map_err(corrupt)?;
    receipts.log_rows().map(|log| log.map_err(corrupt).and_then(|log| values(py, &log))).collect()
}

fn values<'py>(py: Python<'py>, log: &LogRow<'_>) -> PyResult<LogValues<'py>> {
    let topics = log.topics.as_chunks::<32>().0.iter().map(|topic| PyBytes::new(py, topic));
    Ok((PyBytes::new(py, log.address.as_slice()), PyTuple::new(py, topics)?))
}
