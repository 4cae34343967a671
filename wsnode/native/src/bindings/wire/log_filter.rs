//! Filters of logs from the text of parameters in their usual form.

use pyo3::prelude::*;

use crate::bindings::chain::criteria::LogCriteria;
use crate::chain::rows::Criteria;
use crate::wire::parameters;

/// Return the criteria of a filter, its first and its last block. None if it is unusual, names more than
/// `most` values, or a block above `head`.
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
    module.add_function(wrap_pyfunction!(read_log_filter, module)?)
}
