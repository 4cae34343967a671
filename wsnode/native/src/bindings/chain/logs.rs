//! Logs as JSON text, and the values that filters compare.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use super::render::{corrupt, rendered};
use super::row::Row;
use crate::chain::rows::{BodyRow, HeaderRow, LogRow, ReceiptsRow};
use crate::json::{self, BlockContext, Writer};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(render_each_log, module)?)?;
    module.add_function(wrap_pyfunction!(log_values, module)?)
}

/// Return the logs of a block at these indices, each as a JSON text.
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

type LogValues<'py> = (Bound<'py, PyBytes>, Bound<'py, PyTuple>);

/// Return the address and the topics of each log of a block.
#[pyfunction]
fn log_values<'py>(py: Python<'py>, receipts: Row<'_>) -> PyResult<Vec<LogValues<'py>>> {
    let receipts = ReceiptsRow::new(&receipts).map_err(corrupt)?;
    receipts.log_rows().map(|log| log.map_err(corrupt).and_then(|log| values(py, &log))).collect()
}

fn values<'py>(py: Python<'py>, log: &LogRow<'_>) -> PyResult<LogValues<'py>> {
    let topics = log.topics.as_chunks::<32>().0.iter().map(|topic| PyBytes::new(py, topic));
    Ok((PyBytes::new(py, log.address.as_slice()), PyTuple::new(py, topics)?))
}
