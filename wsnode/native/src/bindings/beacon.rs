//! Python classes of the beacon chain's light client.

use std::sync::Arc;

use alloy_primitives::B256;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::errors::{caught, with_attributes};
use super::numbers::hash;
use crate::beacon::{
    self, BeaconConfig, Equivocation, LightClientStore, Refusal, ScheduledFork, StoreChange,
};
use crate::beacon::{StoreRowError, TooOld, UpdateKind};

create_exception!(wsnode._native.beacon, RefusedError, PyException);
create_exception!(wsnode._native.beacon, OldCheckpointError, PyException);
create_exception!(wsnode._native.beacon, LightClientRowError, PyException);

impl From<Refusal> for PyErr {
    fn from(refusal: Refusal) -> Self {
        with_attributes(RefusedError::new_err(refusal.to_string()), |_, error| {
            error.setattr("rule", refusal.rule())?;
            error.setattr("slot", refusal.slot())
        })
    }
}

impl From<TooOld> for PyErr {
    fn from(old: TooOld) -> Self {
        with_attributes(OldCheckpointError::new_err(old.to_string()), |_, error| {
            error.setattr("slot", old.slot)?;
            error.setattr("since_seconds", old.since_seconds)?;
            error.setattr("age_seconds", old.age_seconds)
        })
    }
}

impl From<StoreRowError> for PyErr {
    fn from(error: StoreRowError) -> Self {
        LightClientRowError::new_err(error.to_string())
    }
}

/// Constants and fork schedule of a network, as far as a light client needs them.
#[pyclass(frozen, module = "wsnode._native.beacon")]
struct BeaconNetwork(Arc<BeaconConfig>);

#[pymethods]
impl BeaconNetwork {
    #[new]
    #[pyo3(signature = (*, genesis_validators_root, genesis_time_seconds, slot_milliseconds, committee_size,
        slots_per_epoch, epochs_per_period, weak_subjectivity_seconds, forks))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        genesis_validators_root: &[u8],
        genesis_time_seconds: u64,
        slot_milliseconds: u64,
        committee_size: u64,
        slots_per_epoch: u64,
        epochs_per_period: u64,
        weak_subjectivity_seconds: u64,
        forks: Vec<(String, u64, [u8; 4])>,
    ) -> PyResult<Self> {
        let fork = |(name, epoch, version)| ScheduledFork { name, epoch, version };
        let network = BeaconConfig {
            genesis_validators_root: hash("genesis_validators_root", genesis_validators_root)?,
            genesis_time_seconds,
            slot_milliseconds,
            committee_size,
            slots_per_epoch,
            epochs_per_period,
            weak_subjectivity_seconds,
            forks: forks.into_iter().map(fork).collect(),
        };
        let network = network.checked().map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self(Arc::new(network)))
    }

    fn slot_at(&self, milliseconds: u64) -> u64 {
        self.0.slot_at(milliseconds)
    }

    fn slot_start(&self, slot: u64) -> u64 {
        self.0.slot_start(slot)
    }

    fn epoch(&self, slot: u64) -> u64 {
        self.0.epoch(slot)
    }

    fn period(&self, slot: u64) -> u64 {
        self.0.period(slot)
    }

    fn fork(&self, slot: u64) -> &str {
        &self.0.scheduled(slot).name
    }
}

/// Beacon header with a valid execution proof.
#[pyclass(name = "ProvedHeader", frozen, eq, hash, module = "wsnode._native.beacon")]
#[derive(PartialEq, Eq, Hash)]
struct HeaderObject(beacon::ProvedHeader);

#[pymethods]
impl HeaderObject {
    #[getter]
    fn slot(&self) -> u64 {
        self.0.slot
    }

    #[getter]
    fn root<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.root[..])
    }

    #[getter]
    fn block_hash<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let hash = self.0.block_hash;
        (!hash.is_zero()).then(|| PyBytes::new(py, &hash[..]))
    }
}

/// Differences between the light clients before and after an update.
#[pyclass(frozen, module = "wsnode._native.beacon")]
struct LightClientChange(StoreChange);

#[pymethods]
impl LightClientChange {
    #[getter]
    fn signers(&self) -> u64 {
        self.0.signers
    }

    #[getter]
    fn optimistic(&self) -> bool {
        self.0.optimistic
    }

    #[getter]
    fn finalized(&self) -> bool {
        self.0.finalized
    }

    #[getter]
    fn next_committee(&self) -> bool {
        self.0.next_committee
    }

    #[getter]
    fn period(&self) -> bool {
        self.0.period
    }

    #[getter]
    fn equivocation<'py>(&self, py: Python<'py>) -> Option<EquivocationTuple<'py>> {
        let tuple = |found: Equivocation| {
            let bytes = |root: B256| PyBytes::new(py, &root[..]);
            (found.slot, bytes(found.kept), bytes(found.other), found.is_final)
        };
        self.0.equivocation.map(tuple)
    }
}

type EquivocationTuple<'py> = (u64, Bound<'py, PyBytes>, Bound<'py, PyBytes>, bool);

/// Headers and committees proved from a checkpoint on.
#[pyclass(frozen, module = "wsnode._native.beacon")]
struct LightClient(LightClientStore);

#[pymethods]
impl LightClient {
    #[staticmethod]
    fn bootstrap(
        py: Python<'_>,
        network: &BeaconNetwork,
        checkpoint: &[u8],
        answer: &[u8],
    ) -> PyResult<Self> {
        let (network, checkpoint) = (network.0.clone(), hash("checkpoint", checkpoint)?);
        Ok(Self(caught(|| py.detach(|| beacon::bootstrap(network, checkpoint, answer)))??))
    }

    #[staticmethod]
    fn decode(py: Python<'_>, network: &BeaconNetwork, row: &[u8]) -> PyResult<Self> {
        let network = network.0.clone();
        Ok(Self(caught(|| py.detach(|| LightClientStore::decode(network, row)))??))
    }

    fn take(
        &self,
        py: Python<'_>,
        kind: &str,
        answer: &[u8],
        clock_slot: u64,
    ) -> PyResult<(Self, LightClientChange)> {
        let kind: UpdateKind =
            kind.parse().map_err(|()| PyValueError::new_err(format!("no kind of update: {kind}")))?;
        let taken = caught(|| py.detach(|| beacon::take(&self.0, kind, answer, clock_slot)))?;
        let (next, change) = taken?;
        Ok((Self(next), LightClientChange(change)))
    }

    fn prepare(&self, py: Python<'_>) -> PyResult<()> {
        caught(|| py.detach(|| self.0.prepare()))
    }

    fn require_recent(&self, now_seconds: u64) -> PyResult<()> {
        Ok(self.0.require_recent(now_seconds)?)
    }

    fn encode<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.encode())
    }

    #[getter]
    fn checkpoint<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.checkpoint[..])
    }

    #[getter]
    fn finalized(&self) -> HeaderObject {
        HeaderObject(self.0.finalized)
    }

    #[getter]
    fn optimistic(&self) -> HeaderObject {
        HeaderObject(self.0.optimistic)
    }

    #[getter]
    fn signers(&self) -> u64 {
        self.0.signers
    }

    #[getter]
    fn period(&self) -> u64 {
        self.0.period()
    }

    #[getter]
    fn next_committee_known(&self) -> bool {
        self.0.next.is_some()
    }
}

#[pyfunction]
fn split_updates<'py>(py: Python<'py>, answer: &[u8]) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let answers = caught(|| beacon::split_answers(answer))??;
    Ok(answers.into_iter().map(|answer| PyBytes::new(py, answer)).collect())
}

register! {
    classes: BeaconNetwork, HeaderObject, LightClientChange, LightClient;
    errors: RefusedError, OldCheckpointError, LightClientRowError;
    functions: split_updates;
}
