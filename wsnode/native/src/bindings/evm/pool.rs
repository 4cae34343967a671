//! `PooledTransaction` and its properties.

use std::sync::Arc;

use alloy_consensus::{Transaction, TxEnvelope, Typed2718};
use alloy_primitives::U256;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::spec::ChainSpec;
use crate::bindings::chain::render::rendered;
use crate::bindings::errors::guard;
use crate::bindings::numbers::Number;
use crate::chain::rows::HeaderRow;
use crate::json;
use crate::pool::{self, ProvenBlob, Terms};

/// Versioned hash, blob, commitment, proofs.
type BlobTuple<'py> =
    (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>, Vec<Bound<'py, PyBytes>>);

/// Transaction outside any block, with its form and signature checked.
#[pyclass(frozen, module = "wsnode._native.evm")]
pub struct PooledTransaction(Arc<pool::PooledTransaction>);

impl PooledTransaction {
    fn envelope(&self) -> &TxEnvelope {
        &self.0.envelope
    }
}

#[pymethods]
impl PooledTransaction {
    #[new]
    fn new(spec: &ChainSpec, encoded: &[u8]) -> PyResult<Self> {
        guard(|| pool::PooledTransaction::decode(&spec.0, encoded)).map(|found| Self(Arc::new(found)))
    }

    #[staticmethod]
    fn impersonated(spec: &ChainSpec, encoded: &[u8]) -> PyResult<Self> {
        guard(|| pool::PooledTransaction::decode_impersonated(&spec.0, encoded))
            .map(|found| Self(Arc::new(found)))
    }

    #[getter]
    fn hash<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.envelope().tx_hash().as_slice())
    }

    #[getter]
    fn sender<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.sender.as_slice())
    }

    #[getter]
    fn is_impersonated(&self) -> bool {
        self.0.is_impersonated
    }

    #[getter]
    fn nonce(&self) -> u64 {
        self.envelope().nonce()
    }

    #[getter]
    fn to<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.envelope().to().map(|to| PyBytes::new(py, to.as_slice()))
    }

    #[getter]
    fn value(&self) -> Number {
        Number(self.envelope().value())
    }

    #[getter]
    fn gas(&self) -> u64 {
        self.envelope().gas_limit()
    }

    #[getter]
    fn max_fee(&self) -> Number {
        Number(U256::from(self.envelope().max_fee_per_gas()))
    }

    #[getter]
    fn max_priority_fee(&self) -> Number {
        let envelope = self.envelope();
        let tip = envelope.max_priority_fee_per_gas().unwrap_or_else(|| envelope.max_fee_per_gas());
        Number(U256::from(tip))
    }

    #[getter]
    fn max_blob_fee(&self) -> Option<Number> {
        self.envelope().max_fee_per_blob_gas().map(|fee| Number(U256::from(fee)))
    }

    #[getter]
    fn blob_hashes<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        let hashes = self.envelope().blob_versioned_hashes().unwrap_or_default();
        hashes.iter().map(|hash| PyBytes::new(py, hash.as_slice())).collect()
    }

    #[getter]
    fn r#type(&self) -> u8 {
        self.envelope().ty()
    }

    #[getter]
    fn size(&self) -> usize {
        self.0.size
    }

    #[getter]
    fn encoded<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.encoded)
    }

    #[getter]
    fn input<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.envelope().input())
    }

    #[getter]
    fn authorities<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        let list = self.envelope().authorization_list().unwrap_or_default();
        let authorities = list.iter().filter_map(|authorization| authorization.recover_authority().ok());
        authorities.map(|authority| PyBytes::new(py, authority.as_slice())).collect()
    }

    fn take_blobs<'py>(&self, py: Python<'py>) -> Vec<BlobTuple<'py>> {
        let bytes = |bytes: &[u8]| PyBytes::new(py, bytes);
        let taken = py.detach(|| self.0.take_blobs());
        let each = |blob: &ProvenBlob| {
            let proofs = blob.proofs.iter().map(|proof| bytes(proof.as_slice())).collect();
            let (hash, commitment) = (&blob.versioned_hash, &blob.commitment);
            (bytes(hash.as_slice()), bytes(blob.blob.as_slice()), bytes(commitment.as_slice()), proofs)
        };
        taken.iter().map(each).collect()
    }

    #[getter]
    fn chain_id(&self) -> Option<u64> {
        self.envelope().chain_id()
    }

    #[getter]
    fn is_replay_protected(&self) -> bool {
        self.envelope().chain_id().is_some()
    }
}

#[pyfunction]
#[pyo3(signature = (
    spec, header, transaction, *, minimum_tip=0, was_included=false, keeps_blobs=false, gas_limit=None
))]
#[expect(clippy::too_many_arguments, reason = "each is an argument by name")]
fn check_transaction(
    py: Python<'_>,
    spec: &ChainSpec,
    header: &[u8],
    transaction: &PooledTransaction,
    minimum_tip: u128,
    was_included: bool,
    keeps_blobs: bool,
    gas_limit: Option<u64>,
) -> PyResult<()> {
    let terms = Terms { minimum_tip, was_included, keeps_blobs, gas_limit };
    let (spec, transaction) = (spec.0.clone(), transaction.0.clone());
    let check = || {
        let head = HeaderRow::new(header)?.header()?;
        pool::check(&spec, &head, &transaction, terms)
    };
    // Only the check of KZG proofs takes long enough to be worth a release of the interpreter's lock.
    match transaction.envelope.is_eip4844() {
        true => py.detach(|| guard(check)),
        false => guard(check),
    }
}

#[pyfunction]
fn blob_proof<'py>(py: Python<'py>, blob: &[u8], commitment: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let proof = py.detach(|| guard(|| pool::blob_proof(blob, commitment)))?;
    Ok(PyBytes::new(py, proof.as_slice()))
}

#[pyfunction]
fn cell_proofs<'py>(py: Python<'py>, blob: &[u8]) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let proofs = py.detach(|| guard(|| pool::cell_proofs(blob)))?;
    Ok(proofs.iter().map(|proof| PyBytes::new(py, proof.as_slice())).collect())
}

#[pyfunction]
fn blob_cells<'py>(py: Python<'py>, blob: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let cells = py.detach(|| guard(|| pool::cells(blob)))?;
    Ok(PyBytes::new(py, &cells))
}

#[pyfunction]
fn render_pooled_transaction<'py>(
    py: Python<'py>,
    transaction: &PooledTransaction,
) -> PyResult<Bound<'py, PyBytes>> {
    let pool::PooledTransaction { envelope, sender, encoded, .. } = &*transaction.0;
    rendered(py, |text| json::render_pooled_transaction(text, envelope.tx_hash(), sender, encoded))
        .map(|(bytes, ())| bytes)
}

register! {
    classes: PooledTransaction;
    functions: blob_cells, blob_proof, cell_proofs, check_transaction, render_pooled_transaction;
}
