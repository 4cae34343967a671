//! Proofs, and values that proofs prove, as Python passes them.

use alloy_primitives::{Bytes, B256, U256};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::bindings::numbers::{address, hash};
use crate::state::{AccountProof, Miss, Proved, SlotProof};

/// Address of an account, its proof, its slots with their proofs, and its code.
pub type AccountProofTuple =
    (PyBackedBytes, Vec<PyBackedBytes>, Vec<(PyBackedBytes, Vec<PyBackedBytes>)>, Option<PyBackedBytes>);

pub fn hashes_of(hashes: Vec<(u64, PyBackedBytes)>) -> PyResult<Vec<(u64, B256)>> {
    hashes.into_iter().map(|(number, name)| Ok((number, hash("hash", &name)?))).collect()
}

pub fn misses(accounts: &[PyBackedBytes], slots: &[(PyBackedBytes, PyBackedBytes)]) -> PyResult<Vec<Miss>> {
    let accounts = accounts.iter().map(|name| Ok(Miss::Account(address("address", name)?)));
    let slots = slots.iter().map(|(name, slot)| {
        Ok(Miss::Slot(address("address", name)?, U256::from_be_bytes(hash("slot", slot)?.0)))
    });
    accounts.chain(slots).collect()
}

pub fn proved((name, nodes, slots, code): AccountProofTuple) -> PyResult<Proved> {
    let copied = |bytes: PyBackedBytes| Bytes::copy_from_slice(&bytes);
    let slot = |(name, nodes): (PyBackedBytes, Vec<PyBackedBytes>)| {
        Ok((hash("slot", &name)?, nodes.into_iter().map(copied).collect()))
    };
    Ok(Proved {
        address: address("address", &name)?,
        nodes: nodes.into_iter().map(copied).collect(),
        slots: slots.into_iter().map(slot).collect::<PyResult<_>>()?,
        code: code.map(copied),
    })
}

type Nodes<'py> = Vec<Bound<'py, PyBytes>>;

/// Nodes of an account's proof, value and nodes of each slot, and the storage root.
pub type ProofTuple<'py> = (Nodes<'py>, Vec<(Bound<'py, PyBytes>, Nodes<'py>)>, Bound<'py, PyBytes>);

pub fn proof_tuple<'py>(py: Python<'py>, proof: &AccountProof) -> ProofTuple<'py> {
    let nodes = |nodes: &[Bytes]| nodes.iter().map(|node| PyBytes::new(py, node)).collect();
    let slot = |slot: &SlotProof| (PyBytes::new(py, &slot.value.to_be_bytes::<32>()), nodes(&slot.nodes));
    let slots = proof.slots.iter().map(slot).collect();
    (nodes(&proof.nodes), slots, PyBytes::new(py, proof.storage_root.as_slice()))
}
