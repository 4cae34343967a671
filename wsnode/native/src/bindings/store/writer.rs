//! Change as Python makes it.

use heed::PutFlags;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::reader::Reader;
use super::{name_of, StoreError};

#[pyclass(frozen, extends = Reader, module = "wsnode._native.store")]
pub struct Writer;

impl Writer {
    pub(super) fn new(py: Python<'_>, reader: Reader) -> PyResult<Bound<'_, Self>> {
        Bound::new(py, PyClassInitializer::from(reader).add_subclass(Self))
    }
}

#[pymethods]
impl Writer {
    // A copy: a later write may move the value in the map.
    #[pyo3(signature = (table, key, /))]
    fn view<'py>(
        slf: &Bound<'py, Self>,
        table: &Bound<'py, PyAny>,
        key: &[u8],
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        slf.as_super().get().get(table, key)
    }

    #[pyo3(signature = (table, key, value, /))]
    fn put(slf: &Bound<'_, Self>, table: &Bound<'_, PyAny>, key: &[u8], value: &[u8]) -> PyResult<()> {
        put(slf, table, PutFlags::empty(), key, value).map(drop)
    }

    #[pyo3(signature = (table, key, value, /))]
    fn append(slf: &Bound<'_, Self>, table: &Bound<'_, PyAny>, key: &[u8], value: &[u8]) -> PyResult<()> {
        // APPEND leaves full pages behind it, but a plain put in key order leaves pages half empty.
        if put(slf, table, PutFlags::APPEND, key, value)? {
            return Ok(());
        }
        let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        Err(StoreError::new_err(format!("{}: key {hex} is not beyond the last one", name_of(table)?)))
    }

    #[pyo3(signature = (table, key, /))]
    fn delete(slf: &Bound<'_, Self>, table: &Bound<'_, PyAny>, key: &[u8]) -> PyResult<bool> {
        let reader = slf.as_super().get();
        let handle = reader.store.table(table)?;
        reader.transaction.delete(handle, key).map_err(|failure| reader.raised(failure))
    }

    #[pyo3(signature = (table, /))]
    fn clear(slf: &Bound<'_, Self>, table: &Bound<'_, PyAny>) -> PyResult<()> {
        let reader = slf.as_super().get();
        let handle = reader.store.table(table)?;
        reader.transaction.clear(handle).map_err(|failure| reader.raised(failure))
    }

    #[pyo3(signature = (table, key, /))]
    fn pop<'py>(
        slf: &Bound<'py, Self>,
        table: &Bound<'py, PyAny>,
        key: &[u8],
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let value = slf.as_super().get().get(table, key)?;
        if value.is_some() {
            Self::delete(slf, table, key)?;
        }
        Ok(value)
    }
}

fn put(
    writer: &Bound<'_, Writer>,
    table: &Bound<'_, PyAny>,
    flags: PutFlags,
    key: &[u8],
    value: &[u8],
) -> PyResult<bool> {
    let reader = writer.as_super().get();
    let handle = reader.store.table(table)?;
    reader.transaction.put(handle, flags, key, value).map_err(|failure| reader.raised(failure))
}
