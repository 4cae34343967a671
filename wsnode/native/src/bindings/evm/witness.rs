//! Witnesses of blocks, ranges of slots, and accounts that blocks modified.

use std::sync::atomic::AtomicBool;

use alloy_eips::BlockNumHash;
use alloy_primitives::{Bytes, U256};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::messages::CancelFlag;
use super::state::State;
use crate::bindings::errors::guard;
use crate::bindings::numbers::{address, hash};
use crate::evm::call::WorkBudget;
use crate::evm::trace::{self, SlotRange};
use crate::evm::witness;
use crate::state::Bounds;

type BlockRows = (PyBackedBytes, PyBackedBytes);
type WitnessTuple<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>, u64);

fn bounds(cancel: &AtomicBool, changes: usize, found: usize) -> Bounds<'_> {
    Bounds { cancel, changes, found }
}

/// Return the witness of a block: its parent's state root, code and nodes as JSON arrays, and the number of
/// the oldest block whose hash it reads.
///
/// `changes` bounds the bytes of change lists since the parent, `found` the bytes of the witness.
#[pyfunction]
#[pyo3(signature = (state, rows, *, changes, found, cancel))]
fn execution_witness<'py>(
    py: Python<'py>,
    state: &State,
    rows: BlockRows,
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

/// Return slots of a contract in the order of their hashes as JSON, after the first `transactions` of a
/// block.
#[pyfunction]
#[pyo3(signature = (state, rows, *, transactions, address, start, count, cancel))]
#[expect(clippy::too_many_arguments, reason = "each is a choice of the caller")]
fn storage_range<'py>(
    py: Python<'py>,
    state: &State,
    rows: BlockRows,
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

/// Return the addresses of accounts that are there after block `last` and were absent or different after the
/// earlier `first`. They are in the order of their hashes.
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

type ChangedKeys<'py> = (Bound<'py, PyBytes>, bool, Vec<Bound<'py, PyBytes>>);

/// Return the accounts and slots that may have changed after block `first` up to the committed block `last`.
#[pyfunction]
#[pyo3(signature = (state, first, last, *, changes))]
fn changed_keys<'py>(
    py: Python<'py>,
    state: &State,
    first: u64,
    last: (u64, PyBackedBytes),
    changes: usize,
) -> PyResult<Vec<ChangedKeys<'py>>> {
    let (last, reader) = (named(&last)?, &state.0.reader);
    let found =
        py.detach(|| guard(|| Ok(reader.changed_keys(first, last, Bounds::back(None, changes))?)))?;
    let word = |slot: U256| PyBytes::new(py, &slot.to_be_bytes::<32>());
    let keys = found.into_iter().map(|(address, is_account, slots)| {
        (PyBytes::new(py, address.as_slice()), is_account, slots.into_iter().map(word).collect())
    });
    Ok(keys.collect())
}

/// Return the state root after a committed block.
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

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(execution_witness, module)?)?;
    module.add_function(wrap_pyfunction!(storage_range, module)?)?;
    module.add_function(wrap_pyfunction!(modified_accounts, module)?)?;
    module.add_function(wrap_pyfunction!(changed_keys, module)?)?;
    module.add_function(wrap_pyfunction!(root_after, module)?)
}
