//! Parameters of requests: filters of logs from their text, and storage with many entries.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::bindings::chain::criteria::LogCriteria;
use crate::chain::rows::Criteria;
use crate::wire::parameters;

#[pyfunction]
#[pyo3(signature = (mapping, /))]
fn are_hashes(mapping: &Bound<'_, PyDict>) -> bool {
    mapping.iter().all(|(name, value)| is_hash(&name) && is_hash(&value))
}

fn is_hash(value: &Bound<'_, PyAny>) -> bool {
    let Ok(digits) = value.cast::<PyString>().map(|text| text.to_str().unwrap_or_default()) else {
        return false;
    };
    digits.len() == 66
        && digits.starts_with("0x")
        && digits.bytes().skip(2).all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

#[pyfunction]
#[pyo3(signature = (params, most, head, /))]
fn read_log_filter(params: &[u8], most: usize, head: u64) -> Option<(LogCriteria, u64, u64)> {
    let filter = parameters::log_parameters(params)?;
    let (first, last) = (filter.first.unwrap_or(head), filter.last.unwrap_or(head));
    let criteria = Criteria::new(filter.addresses, filter.topics);
    let is_usual = first <= last && last <= head && criteria.count() <= most;
    is_usual.then_some((LogCriteria(criteria), first, last))
}

register! {
    functions: are_hashes, read_log_filter;
}
