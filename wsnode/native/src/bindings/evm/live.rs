//! `LiveCalls`: calls whose outcomes are watched.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use alloy_consensus::Header;
use alloy_eips::BlockNumHash;
use alloy_primitives::B256;
use alloy_trie::KECCAK_EMPTY;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use revm::Database;

use super::messages::{CancelFlag, Message};
use super::state::State;
use crate::bindings::errors::guard;
use crate::bindings::numbers::hash;
use crate::engine::Engine;
use crate::error::Error;
use crate::evm::build::Base;
use crate::evm::call::{self, CallEnv, CallSite, Layer, Overrides, WorkBudget};
use crate::evm::live::{self, ListId, LiveBounds, LiveTable, Ran, Ready, Surroundings};
use crate::state::{collecting_misses, Bounds, ChangedKeys, Miss, StateError};

const LIMIT_EXCEEDED: i64 = -32005;
const INTERNAL: i64 = -32603;
/// Number of missing values from which on they are fetched before other calls run.
const MAX_LACKS: usize = 128;

/// Live calls of a chain, and their known outcomes.
#[pyclass(frozen, module = "wsnode._native.evm")]
pub struct LiveCalls(Mutex<LiveTable>);

/// Bytes of the live calls of all chains that share a bound.
#[pyclass(frozen, module = "wsnode._native.evm")]
pub struct LiveBytes(Arc<AtomicUsize>);

#[pymethods]
impl LiveBytes {
    #[new]
    fn new() -> Self {
        Self(Arc::default())
    }
}

/// Seconds for all calls and for each call, and the flag that is set when no caller waits for them any more.
#[derive(Clone, Copy)]
struct Time<'a> {
    slice: f64,
    call: f64,
    cancel: &'a CancelFlag,
}

type ReadyTuple<'py> = (ListId, Option<u64>, Option<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)>);

#[pymethods]
impl LiveCalls {
    #[new]
    #[pyo3(signature = (*, gas, gas_blocks, reads, bytes, all_bytes))]
    fn new(gas: u64, gas_blocks: u64, reads: usize, bytes: usize, all_bytes: &LiveBytes) -> Self {
        Self(Mutex::new(LiveTable::new(
            LiveBounds { gas, gas_blocks, reads, bytes },
            Arc::clone(&all_bytes.0),
        )))
    }

    fn admits(&self, messages: Vec<PyRef<'_, Message>>) -> bool {
        self.table().admits(messages.iter().map(|message| &message.0))
    }

    fn add(&self, messages: Vec<PyRef<'_, Message>>, client: u64) -> ListId {
        let messages = messages.iter().map(|message| call::Message { nonce: None, ..message.0.clone() });
        self.table().add(messages.collect(), client)
    }

    fn remove(&self, list: ListId) {
        self.table().remove(list);
    }

    fn require_proved(&self, py: Python<'_>, state: &State, header: &[u8], most: usize) -> PyResult<()> {
        py.detach(|| guard(|| self.require_proved_after(&state.0, header, most)))
    }

    #[pyo3(signature = (state, header, *, since, step, changes))]
    fn step(
        &self,
        py: Python<'_>,
        state: &State,
        header: &[u8],
        since: Option<(u64, PyBackedBytes)>,
        step: Option<u64>,
        changes: usize,
    ) -> PyResult<()> {
        let block = |(number, block_hash): (u64, PyBackedBytes)| {
            Ok::<_, PyErr>(BlockNumHash::new(number, hash("block hash", &block_hash)?))
        };
        let since = since.map(block).transpose()?;
        py.detach(|| guard(|| self.step_to(&state.0, header, (since, step), changes)))
    }

    #[pyo3(signature = (state, header, *, slice_seconds, call_seconds, cancel))]
    fn run(
        &self,
        py: Python<'_>,
        state: &State,
        header: &[u8],
        slice_seconds: f64,
        call_seconds: f64,
        cancel: &CancelFlag,
    ) -> PyResult<()> {
        let time = Time { slice: slice_seconds, call: call_seconds, cancel };
        py.detach(|| guard(|| self.run_due(&state.0, header, time)))
    }

    fn pin_late(&self) -> bool {
        self.table().pin_late()
    }

    fn unpin(&self) {
        self.table().unpin();
    }

    #[pyo3(signature = (state, header, *, slice_seconds, call_seconds, cancel))]
    fn run_late(
        &self,
        py: Python<'_>,
        state: &State,
        header: &[u8],
        slice_seconds: f64,
        call_seconds: f64,
        cancel: &CancelFlag,
    ) -> PyResult<bool> {
        let time = Time { slice: slice_seconds, call: call_seconds, cancel };
        py.detach(|| guard(|| self.run_late_due(&state.0, header, time)))
    }

    fn take_late_ready<'py>(&self, py: Python<'py>) -> Vec<ReadyTuple<'py>> {
        ready_tuples(py, self.table().take_late_ready())
    }

    #[pyo3(signature = (state, header, list, start, *, slice_seconds, call_seconds, cancel))]
    #[expect(clippy::too_many_arguments, reason = "each is one of Python's")]
    fn digests<'py>(
        &self,
        py: Python<'py>,
        state: &State,
        header: &[u8],
        list: ListId,
        start: usize,
        slice_seconds: f64,
        call_seconds: f64,
        cancel: &CancelFlag,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let time = Time { slice: slice_seconds, call: call_seconds, cancel };
        let found = py.detach(|| guard(|| self.digests_at(&state.0, header, (list, start), time)))?;
        Ok(PyBytes::new(py, &found))
    }

    fn retry_lacking(&self) {
        self.table().retry_lacking();
    }

    fn fail_lacking(&self, code: i64, message: &str) {
        self.table().fail_lacking(code, message);
    }

    fn take_ready<'py>(&self, py: Python<'py>) -> Vec<ReadyTuple<'py>> {
        ready_tuples(py, self.table().take_ready())
    }

    #[getter]
    fn steps(&self) -> u64 {
        self.table().steps()
    }

    fn complete_since(&self, list: ListId) -> Option<u64> {
        self.table().complete_since(list)
    }

    fn is_complete(&self, list: ListId) -> bool {
        self.table().is_complete(list)
    }

    fn told<'py>(&self, py: Python<'py>, list: ListId) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.table().told(list))
    }

    fn changes<'py>(&self, py: Python<'py>, list: ListId, digests: &[u8]) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.table().changes(list, digests))
    }

    #[getter]
    fn has_due(&self) -> bool {
        self.table().has_due()
    }

    #[getter]
    fn is_too_late(&self) -> bool {
        self.table().is_too_late()
    }

    #[getter]
    fn bytes(&self) -> usize {
        self.table().bytes()
    }

    #[getter]
    fn runs(&self) -> u64 {
        self.table().runs
    }

    #[getter]
    fn late_blocks(&self) -> u64 {
        self.table().late_blocks
    }

    #[getter]
    fn each_block(&self) -> usize {
        self.table().each_block()
    }
}

fn ready_tuples(py: Python<'_>, ready: Vec<Ready>) -> Vec<ReadyTuple<'_>> {
    let bytes = |(entries, told): (Vec<u8>, Vec<u8>)| (PyBytes::new(py, &entries), PyBytes::new(py, &told));
    ready.into_iter().map(|ready| (ready.list, ready.since, ready.changes.map(bytes))).collect()
}

impl LiveCalls {
    fn table(&self) -> MutexGuard<'_, LiveTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn step_to(
        &self,
        engine: &Engine,
        header: &[u8],
        (since, step): (Option<BlockNumHash>, Option<u64>),
        limit: usize,
    ) -> Result<(), Error> {
        let (fields, hash, state) = Base::Row(header).read()?;
        // The changes are read before the state, because a pinned state has one reader at a time.
        let changed = since.map(|since| self.changed_since(engine, since, state.committed, limit));
        let changed: Option<Vec<ChangedKeys>> = match changed.transpose() {
            Err(error @ StateError::Reorganised { .. }) => return Err(error.into()),
            found => found.ok().flatten(),
        };
        let (work_budget, layer) = (WorkBudget::new(None, None), Layer::Plain(engine.reader.at(state)?));
        let mut env = live::env_after(&engine.spec, layer, &fields, &work_budget);
        let mut table = self.table();
        let surroundings = Surroundings::of(&env, &fields, hash, table.bounds());
        Ok(table.step(surroundings, step, changed, |address| {
            let (account, misses) = collecting_misses(|| env.state.basic(address));
            if !misses.is_empty() {
                // The account is unknown and may have changed to any value. These members equal those of no
                // account, so every call that depends on the nonce or the code is due.
                return Ok((u64::MAX, B256::ZERO));
            }
            Ok::<_, StateError>(
                account?.map_or((0, KECCAK_EMPTY), |account| (account.nonce, account.code_hash)),
            )
        })?)
    }

    /// Return the keys that differ between the states after two blocks of a chain, patches included.
    fn changed_since(
        &self,
        engine: &Engine,
        since: BlockNumHash,
        now: BlockNumHash,
        limit: usize,
    ) -> Result<Vec<ChangedKeys>, StateError> {
        if engine.reader.block_states().is_none() {
            return engine.reader.changed_keys(since.number, now, Bounds::back(None, limit));
        }
        let places = self.table().places();
        Ok(live::differing(&engine.reader.at(since)?, &engine.reader.at(now)?, &places))
    }

    fn require_proved_after(&self, engine: &Engine, header: &[u8], most: usize) -> Result<(), Error> {
        let (_, _, state) = Base::Row(header).read()?;
        let places = self.table().places();
        let (misses, next) = live::lacking(&engine.reader.at(state)?, &places, most);
        if let Some(next) = next {
            self.table().turn = next;
        }
        require_known(misses)
    }

    fn run_due(&self, engine: &Engine, header: &[u8], time: Time<'_>) -> Result<(), Error> {
        let bounds = self.table().bounds();
        let (mut misses, mut is_first) = (Vec::new(), true);
        at(engine, header, time, |env, header, work_budget| {
            // After the first call only short calls run, so that their results are published before a long
            // run begins.
            let next =
                if std::mem::take(&mut is_first) { LiveTable::next_due } else { LiveTable::next_short_due };
            let Some(due) = next(&mut self.table()) else { return Ok(false) };
            let is_untried = self.table().is_untried(&due);
            if is_untried {
                work_budget.end_at(Instant::now() + Duration::from_secs_f64(time.slice.min(time.call)));
            }
            let (ran, found) = collecting_misses(|| live::run(env, header, &due.1, bounds));
            if !found.is_empty() {
                misses.extend(found);
                self.table().leave_lacking(&due);
                return Ok(misses.len() < MAX_LACKS);
            }
            let is_stopped = matches!(ran, Ok(None));
            match ended(ran, time).filter(|_| !(is_untried && is_stopped)) {
                Some(ended) => self.table().finish(&due, ended),
                None => self.table().retry(&due),
            }
            Ok(true)
        })?;
        require_known(misses)
    }

    fn run_late_due(&self, engine: &Engine, header: &[u8], time: Time<'_>) -> Result<bool, Error> {
        let bounds = self.table().bounds();
        let (mut misses, mut is_over) = (Vec::new(), false);
        at(engine, header, time, |env, header, _| {
            let Some(call) = self.table().next_late() else {
                is_over = true;
                return Ok(false);
            };
            let (ran, found) = collecting_misses(|| live::run(env, header, &call.message, bounds));
            misses.extend(found);
            match ended(ran, time).filter(|_| misses.is_empty()) {
                Some(ended) => self.table().finish_late(&call, ended),
                None => self.table().retry_late(&call),
            }
            Ok(misses.is_empty())
        })?;
        require_known(misses)?;
        Ok(is_over)
    }

    fn digests_at(
        &self,
        engine: &Engine,
        header: &[u8],
        (list, start): (ListId, usize),
        time: Time<'_>,
    ) -> Result<Vec<u8>, Error> {
        let bounds = self.table().bounds();
        let messages = self.table().messages(list, start);
        let (mut digests, mut misses) = (Vec::new(), Vec::new());
        let mut messages = messages.iter();
        at(engine, header, time, |env, header, _| {
            let Some(message) = messages.next() else { return Ok(false) };
            let (ran, found) = collecting_misses(|| live::run(env, header, message, bounds));
            misses.extend(found);
            let Some(ended) = ended(ran, time) else { return Ok(false) };
            digests.extend_from_slice(&self.table().digest(&ended).to_be_bytes());
            Ok(true)
        })?;
        require_known(misses)?;
        Ok(digests)
    }
}

/// Run calls after a block by `next`, one at a time, until it returns false or no time is left.
fn at(
    engine: &Engine,
    header: &[u8],
    time: Time<'_>,
    mut next: impl FnMut(&mut CallEnv<'_>, &Header, &WorkBudget) -> Result<bool, Error>,
) -> Result<(), Error> {
    let end = Instant::now() + Duration::from_secs_f64(time.slice);
    let work_budget = WorkBudget::new(None, Some(time.cancel.0.clone()));
    engine.at_block(Base::Row(header), Overrides::default(), |CallSite { spec, layer, header, .. }| {
        let mut env = live::env_after(spec, layer, header, &work_budget);
        loop {
            work_budget.end_at(Instant::now() + Duration::from_secs_f64(time.call));
            if !next(&mut env, header, &work_budget)? || work_budget.is_stopped() || Instant::now() >= end {
                return Ok(());
            }
        }
    })
}

/// Return the result of a run, or None if no caller waits for it any more.
fn ended(ran: Result<Option<Ran>, Error>, time: Time<'_>) -> Option<Ran> {
    match ran {
        Ok(Some(ran)) => Some(ran),
        Ok(None) if time.cancel.0.load(Ordering::Relaxed) => None,
        Ok(None) => {
            Some(Ran::failed(LIMIT_EXCEEDED, &format!("execution aborted (timeout = {}s)", time.call)))
        }
        Err(_) => Some(Ran::failed(INTERNAL, "internal error")),
    }
}

fn require_known(misses: Vec<Miss>) -> Result<(), Error> {
    match misses.is_empty() {
        true => Ok(()),
        false => Err(StateError::Unknown(misses).into()),
    }
}

register! {
    classes: LiveBytes, LiveCalls;
}
