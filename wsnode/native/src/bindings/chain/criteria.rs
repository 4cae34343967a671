//! Criteria of a log filter, looked up in the log index or compared with the logs of blocks.

use alloy_primitives::{Address, B256};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::lookup::{ascending, raised, Located};
use crate::bindings::errors::caught;
use crate::bindings::numbers;
use crate::bindings::store::Reader;
use crate::chain::rows::Criteria;
use crate::chain::tables::Txn;

/// Addresses and topics of a filter.
#[pyclass(frozen, module = "wsnode._native.chain")]
pub struct LogCriteria(pub Criteria);

#[pymethods]
impl LogCriteria {
    #[new]
    #[pyo3(signature = (addresses, topics, /))]
    fn new(addresses: Vec<PyBackedBytes>, topics: Vec<Vec<PyBackedBytes>>) -> PyResult<Self> {
        let address = |bytes: &PyBackedBytes| numbers::address("address", bytes);
        let topic = |bytes: &PyBackedBytes| numbers::hash("topic", bytes);
        let addresses: Vec<Address> = addresses.iter().map(address).collect::<PyResult<_>>()?;
        let alternatives = |values: &Vec<PyBackedBytes>| values.iter().map(topic).collect();
        let topics: Vec<Vec<B256>> = topics.iter().map(alternatives).collect::<PyResult<_>>()?;
        Ok(Self(Criteria::new(addresses, topics)))
    }

    #[getter]
    fn count(&self) -> usize {
        self.0.count()
    }

    fn groups<'py>(&self, py: Python<'py>) -> Vec<Vec<Bound<'py, PyBytes>>> {
        let group = |keys: Vec<Vec<u8>>| keys.iter().map(|key| PyBytes::new(py, key)).collect();
        self.0.groups().into_iter().map(group).collect()
    }

    #[pyo3(signature = (reader, begin, end, most, /))]
    fn find<'py>(
        &self,
        py: Python<'py>,
        reader: &Bound<'py, Reader>,
        begin: u64,
        end: u64,
        most: usize,
    ) -> PyResult<(Located<'py>, u64)> {
        let reader = reader.get();
        let tables = reader.chain()?;
        let find = |txn: &Txn<'_>| tables.matching_logs(txn, &self.0, (begin, end), most);
        let (found, behind) =
            caught(|| reader.transaction.with(find))?.map_err(|error| raised(reader, error))?;
        let found = found.into_iter().map(|(number, indices)| Ok((number, ascending(py, indices)?)));
        Ok((found.collect::<PyResult<_>>()?, behind))
    }
}

register! {
    classes: LogCriteria;
}
