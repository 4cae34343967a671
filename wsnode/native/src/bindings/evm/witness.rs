//! Witnesses of blocks, ranges of slots, and accounts that blocks modified.

use std::sync::atomic::AtomicBool;

use alloy_eips::BlockNumHash;
use alloy_primitives::{Bytes, U256};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::building::RowPair;
use super::messages::CancelFlag;
use super::state::State;
use crate::bindings::errors::guard;
use crate::bindings::numbers::{address, hash};
use crate::evm::call::WorkBudget;
use crate::evm::trace::{self, SlotRange};
use crate::evm::witness;
use crate::state::Bounds;

type WitnessTuple<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>, u64);

fn bounds(cancel: &AtomicBool, changes: usize, found: usize) -> Bounds<'_> {
    Bounds { cancel, changes, found }
}

#[pyfunction]
#[pyo3(signature = (state, rows, *, changes, found, cancel))]
fn execution_witness<'py>(
    py: Python<'py>,
    state: &State,
    rows: RowPair,
    changes: usize,
    found: usize,
    cancel: PyRef<'_, CancelFlag>,
) -> PyResult<WitnessTuple<'py>> {
    let (engine, cancel) = (&state.0, cancel.0.clone());
    let (root, codes, nodes, oldest) = py.detach(|| {
        guard(|| {
            let bounds = bounds(&cancel, changes, found);
            let witness = witness::execution_witness(engine, (&rows.0, &rows.1), bounds)?;
            Ok((witness.state_root, list(&witness.codes), list(&witness.nodes), witness.oldest))
        })
    })?;
    Ok((PyBytes::new(py, root.as_slice()), PyBytes::new(py, &codes), PyBytes::new(py, &nodes), oldest))
}

fn list(items: &[Bytes]) -> Vec<u8> {
    let mut text = Vec::with_capacity(items.iter().map(|item| 2 * item.len() + 5).sum::<usize>() + 2);
    trace::list_of_bytes(&mut text, items);
    text
}

#[pyfunction]
#[pyo3(signature = (state, rows, *, transactions, address, start, count, cancel))]
#[expect(clippy::too_many_arguments, reason = "each is a choice of the caller")]
fn storage_range<'py>(
    py: Python<'py>,
    state: &State,
    rows: RowPair,
    transactions: usize,
    address: &[u8],
    start: &[u8],
    count: usize,
    cancel: PyRef<'_, CancelFlag>,
) -> PyResult<Bound<'py, PyBytes>> {
    let address = self::address("address", address)?;
    let (engine, cancel) = (&state.0, cancel.0.clone());
    let range = SlotRange { transactions, address, start, count };
    let text = py.detach(|| {
        guard(|| {
            let work_budget = WorkBudget::new(None, Some(cancel.clone()));
            let bounds = bounds(&cancel, usize::MAX, usize::MAX);
            trace::storage_range(engine, (&rows.0, &rows.1), range, &work_budget, bounds)
        })
    })?;
    Ok(PyBytes::new(py, &text))
}

#[pyfunction]
#[pyo3(signature = (state, first, last, *, changes, cancel))]
fn modified_accounts<'py>(
    py: Python<'py>,
    state: &State,
    first: (u64, PyBackedBytes),
    last: (u64, PyBackedBytes),
    changes: usize,
    cancel: PyRef<'_, CancelFlag>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let (first, last) = (named(&first)?, named(&last)?);
    let (reader, cancel) = (&state.0.reader, cancel.0.clone());
    let found = py.detach(|| {
        guard(|| Ok(reader.modified_accounts(first, last, bounds(&cancel, changes, usize::MAX))?))
    })?;
    Ok(found.iter().map(|address| PyBytes::new(py, address.as_slice())).collect())
}

type ChangedKeysTuple<'py> = (Bound<'py, PyBytes>, bool, Vec<Bound<'py, PyBytes>>);

#[pyfunction]
#[pyo3(signature = (state, first, last, *, changes))]
fn changed_keys<'py>(
    py: Python<'py>,
    state: &State,
    first: u64,
    last: (u64, PyBackedBytes),
    changes: usize,
) -> PyResult<Vec<ChangedKeysTuple<'py>>> {
    let (last, reader) = (named(&last)?, &state.0.reader);
    let found =
        py.detach(|| guard(|| Ok(reader.changed_keys(first, last, Bounds::back(None, changes))?)))?;
    let word = |slot: U256| PyBytes::new(py, &slot.to_be_bytes::<32>());
    let keys = found.into_iter().map(|(address, is_account, slots)| {
        (PyBytes::new(py, address.as_slice()), is_account, slots.into_iter().map(word).collect())
    });
    Ok(keys.collect())
}

#[pyfunction]
fn root_after<'py>(
    py: Python<'py>,
    state: &State,
    block: (u64, PyBackedBytes),
) -> PyResult<Bound<'py, PyBytes>> {
    let block = named(&block)?;
    let root = guard(|| Ok(state.0.reader.root_after(block)?))?;
    Ok(PyBytes::new(py, root.as_slice()))
}

fn named((number, block_hash): &(u64, PyBackedBytes)) -> PyResult<BlockNumHash> {
    Ok(BlockNumHash { number: *number, hash: hash("block hash", block_hash)? })
}

register! {
    functions: execution_witness, storage_range, modified_accounts, changed_keys, root_after;
}
