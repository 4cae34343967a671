//! `State`: the EVM state of one chain.

use std::path::PathBuf;
use std::sync::Arc;

use alloy_eips::BlockNumHash;
use alloy_primitives::U256;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use pyo3::IntoPyObjectExt;

use super::blocks::{exception, Execution, UnverifiedBlock};
use super::building::{built, rows, BlockAttributes, BuiltBlock, CallBase, RowPair, StateBlock};
use super::messages::{console_tuple, outcome, CancelFlag, Message};
use super::proofs::{hashes_of, misses, proof_tuple, proved, AccountProofTuple, ProofTuple};
use super::simulate::Simulation;
use super::spec::ChainSpec;
use crate::bindings::errors::{guard, guard_collecting_misses, inline_or_detached, values, MissedValues};
use crate::bindings::numbers::{address, hash, Number};
use crate::bindings::store::{PyEnvironment, Writer};
use crate::engine::Engine;
use crate::error::Error;
use crate::evm::build::Refused;
use crate::evm::call::{
    self, parse_patches, CallSite, ConsoleMessages, Estimate, Outcome, Overrides, WorkBudget,
};
use crate::evm::simulate::simulate;
use crate::state::{BlockStep, Bounds, Head, Staged, StateError};

/// EVM state of one chain, in tables beside those of its rows. A process that forks opens it afterwards.
#[pyclass(frozen, module = "wsnode._native.evm")]
pub struct State(pub Arc<Engine>);

/// Change of a state that waits to be written.
#[pyclass(frozen, module = "wsnode._native.evm")]
pub struct StateChange(Arc<Staged>);

impl StateChange {
    fn of(staged: Option<Staged>) -> Option<Self> {
        staged.map(|staged| Self(Arc::new(staged)))
    }
}

#[pymethods]
impl StateChange {
    #[pyo3(signature = (writer, /))]
    fn write(&self, writer: &Bound<'_, Writer>) -> PyResult<()> {
        let (reader, staged) = (writer.as_super().get(), &self.0);
        let transaction = &reader.transaction;
        match writer.py().detach(|| transaction.change(|txn| staged.write(txn))) {
            Err(StateError::Store(failure)) => Err(reader.raised(failure)),
            written => guard(|| Ok(written?)),
        }
    }
}

type HeadTuple<'py> = (u64, Bound<'py, PyBytes>);
type AccountTuple<'py> = (u64, Number, Bound<'py, PyBytes>);

#[pymethods]
impl State {
    #[new]
    #[pyo3(signature = (environment, proved, spec, *, writer, is_proved=false))]
    fn new(
        py: Python<'_>,
        environment: &PyEnvironment,
        proved: PathBuf,
        spec: &ChainSpec,
        writer: bool,
        is_proved: bool,
    ) -> PyResult<Self> {
        let (place, spec) = (environment.state()?, spec.0.clone());
        py.detach(|| guard(|| Engine::open(place, &proved, spec, writer, is_proved)))
            .map(|engine| Self(Arc::new(engine)))
    }

    fn pin(&self) -> PyResult<Self> {
        guard(|| self.0.pin()).map(|engine| Self(Arc::new(engine)))
    }

    #[getter]
    fn head<'py>(&self, py: Python<'py>) -> PyResult<HeadTuple<'py>> {
        guard(|| self.0.head()).map(|head| head_tuple(py, head))
    }

    #[getter]
    fn committed_head<'py>(&self, py: Python<'py>) -> PyResult<HeadTuple<'py>> {
        guard(|| self.0.committed_head()).map(|head| head_tuple(py, head))
    }

    #[pyo3(signature = (blocks, ancestors, *, total_difficulty, attributes=None))]
    fn execute(
        &self,
        py: Python<'_>,
        blocks: Vec<PyRef<'_, UnverifiedBlock>>,
        ancestors: Vec<RowPair>,
        total_difficulty: Number,
        attributes: Option<&BlockAttributes>,
    ) -> PyResult<Execution> {
        let chosen = attributes.map(|attributes| attributes.0.chosen()).unwrap_or_default();
        let blocks: Vec<_> = blocks.iter().map(|block| block.0.clone()).collect();
        py.detach(|| guard(|| self.0.execute(&blocks, &rows(&ancestors), total_difficulty.0, chosen)))
            .map(Execution::from)
    }

    #[pyo3(signature = (block, ancestors, *, total_difficulty, attributes=None))]
    fn verify_header(
        &self,
        py: Python<'_>,
        block: &UnverifiedBlock,
        ancestors: Vec<RowPair>,
        total_difficulty: Number,
        attributes: Option<&BlockAttributes>,
    ) -> PyResult<Option<Py<PyAny>>> {
        let chosen = attributes.map(|attributes| attributes.0.chosen()).unwrap_or_default();
        let invalid =
            guard(|| self.0.verify_header(&block.0, &rows(&ancestors), total_difficulty.0, chosen))?;
        Ok(invalid.map(|invalid| exception(py, &invalid)))
    }

    #[pyo3(signature = (block, parent, ancestors, *, total_difficulty, changes=usize::MAX))]
    fn try_block(
        &self,
        py: Python<'_>,
        block: &UnverifiedBlock,
        parent: StateBlock,
        ancestors: Vec<RowPair>,
        total_difficulty: Number,
        changes: usize,
    ) -> PyResult<Py<PyAny>> {
        let parent = parent.parent();
        let tried = py.detach(|| {
            guard(|| self.0.try_block(&block.0, parent, &rows(&ancestors), total_difficulty.0, changes))
        })?;
        match tried {
            Ok(built) => Ok(Py::new(py, BuiltBlock::new(built))?.into_any()),
            Err(invalid) => Ok(exception(py, &invalid)),
        }
    }

    fn accept(&self, py: Python<'_>, block: &BuiltBlock) -> PyResult<()> {
        py.detach(|| guard(|| self.0.accept(&block.0)))
    }

    fn stage_genesis(&self, py: Python<'_>) -> PyResult<Option<StateChange>> {
        py.detach(|| guard(|| self.0.stage_genesis())).map(StateChange::of)
    }

    fn stage(&self, py: Python<'_>) -> PyResult<Option<StateChange>> {
        py.detach(|| guard(|| self.0.stage())).map(StateChange::of)
    }

    #[pyo3(signature = (change, /))]
    fn settle(&self, py: Python<'_>, change: &StateChange) -> PyResult<()> {
        py.detach(|| guard(|| self.0.settle(&change.0)))
    }

    fn discard(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| guard(|| self.0.discard()))
    }

    #[getter]
    fn state_root<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let head = guard(|| self.0.committed_head())?;
        Ok(PyBytes::new(py, head.state_root.as_slice()))
    }

    #[pyo3(signature = (number, *, state_root=None))]
    fn rewind(&self, py: Python<'_>, number: u64, state_root: Option<&[u8]>) -> PyResult<()> {
        let root = state_root.map(|root| hash("state_root", root)).transpose()?;
        py.detach(|| guard(|| self.0.rewind(number, root)))
    }

    #[pyo3(signature = (most, /))]
    fn stage_pruning(&self, py: Python<'_>, most: usize) -> PyResult<Option<StateChange>> {
        py.detach(|| guard(|| self.0.stage_pruning(most))).map(StateChange::of)
    }

    #[pyo3(signature = (accounts, /))]
    fn stage_patch<'py>(
        &self,
        py: Python<'py>,
        accounts: &[u8],
    ) -> PyResult<(StateChange, Bound<'py, PyBytes>)> {
        let (root, staged) = py.detach(|| guard(|| self.0.stage_patch(&parse_patches(accounts)?)))?;
        Ok((StateChange(Arc::new(staged)), PyBytes::new(py, root.as_slice())))
    }

    fn keep_proofs(&self, py: Python<'_>, proofs: Vec<AccountProofTuple>) -> PyResult<()> {
        let proofs: Vec<_> = proofs.into_iter().map(proved).collect::<PyResult<_>>()?;
        py.detach(|| guard(|| Ok(self.0.base()?.keep(&proofs)?)))
    }

    fn keep_hashes(&self, py: Python<'_>, hashes: Vec<(u64, PyBackedBytes)>) -> PyResult<()> {
        let hashes = hashes_of(hashes)?;
        py.detach(|| guard(|| Ok(self.0.base()?.keep_hashes(&hashes)?)))
    }

    fn note_root(&self, number: u64, block_hash: &[u8], state_root: &[u8]) -> PyResult<()> {
        let (hash, state_root) = (hash("block hash", block_hash)?, hash("state root", state_root)?);
        guard(|| self.0.block_states())?.note(Head { number, hash, state_root });
        Ok(())
    }

    fn keep_proofs_of(
        &self,
        py: Python<'_>,
        state_root: &[u8],
        proofs: Vec<AccountProofTuple>,
    ) -> PyResult<()> {
        let root = hash("state root", state_root)?;
        let proofs: Vec<_> = proofs.into_iter().map(proved).collect::<PyResult<_>>()?;
        py.detach(|| guard(|| Ok(self.0.block_states()?.keep(root, &proofs)?)))
    }

    fn known_depth(
        &self,
        py: Python<'_>,
        roots: Vec<PyBackedBytes>,
        accounts: Vec<PyBackedBytes>,
        slots: Vec<(PyBackedBytes, PyBackedBytes)>,
    ) -> PyResult<usize> {
        let roots: Vec<_> = roots.iter().map(|root| hash("state root", root)).collect::<PyResult<_>>()?;
        let wanted = misses(&accounts, &slots)?;
        py.detach(|| guard(|| Ok(self.0.block_states()?.depth(&roots, &wanted)?)))
    }

    fn carry<'py>(
        &self,
        py: Python<'py>,
        state_root: &[u8],
        steps: Vec<(PyBackedBytes, PyBackedBytes)>,
        accounts: Vec<PyBackedBytes>,
        slots: Vec<(PyBackedBytes, PyBackedBytes)>,
    ) -> PyResult<MissedValues<'py>> {
        let root = hash("state root", state_root)?;
        let steps: Vec<BlockStep<'_>> = steps
            .iter()
            .map(|(list, root)| Ok((list.as_ref(), hash("state root", root)?)))
            .collect::<PyResult<_>>()?;
        let wanted = misses(&accounts, &slots)?;
        let others = py.detach(|| guard(|| Ok(self.0.block_states()?.carry(root, &steps, &wanted)?)))?;
        Ok(values(py, &others))
    }

    fn keep_hashes_of(&self, py: Python<'_>, of: &[u8], hashes: Vec<(u64, PyBackedBytes)>) -> PyResult<()> {
        let of = hash("block hash", of)?;
        let hashes = hashes_of(hashes)?;
        py.detach(|| guard(|| Ok(self.0.block_states()?.keep_hashes(of, &hashes)?)))
    }

    fn account<'py>(
        &self,
        py: Python<'py>,
        address: &[u8],
        block: StateBlock,
    ) -> PyResult<Option<AccountTuple<'py>>> {
        let address = self::address("address", address)?;
        let account = guard(|| Ok(self.0.reader.at(block.state())?.account(address)?))?;
        Ok(account
            .map(|found| (found.nonce, Number(found.balance), PyBytes::new(py, found.code_hash.as_slice()))))
    }

    fn code<'py>(&self, py: Python<'py>, address: &[u8], block: StateBlock) -> PyResult<Bound<'py, PyBytes>> {
        let address = self::address("address", address)?;
        let code = guard(|| {
            let view = self.0.reader.at(block.state())?;
            let account = view.account(address)?;
            Ok::<_, Error>(account.map(|found| view.code(found.code_hash)).transpose()?.unwrap_or_default())
        })?;
        Ok(PyBytes::new(py, &code))
    }

    fn find_code<'py>(&self, py: Python<'py>, code_hash: &[u8]) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let code_hash = hash("code hash", code_hash)?;
        let code = guard(|| Ok(self.0.reader.find_code(code_hash)?))?;
        Ok(code.map(|code| PyBytes::new(py, &code)))
    }

    fn storage<'py>(
        &self,
        py: Python<'py>,
        address: &[u8],
        slot: &[u8],
        block: StateBlock,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let address = self::address("address", address)?;
        let slot = hash("slot", slot)?;
        let value =
            guard(|| Ok(self.0.reader.at(block.state())?.storage(address, U256::from_be_bytes(slot.0))?))?;
        Ok(PyBytes::new(py, &value.to_be_bytes::<32>()))
    }

    #[pyo3(signature = (address, block, start, *, is_forward, limit))]
    fn changes_of(
        &self,
        address: &[u8],
        block: StateBlock,
        start: u64,
        is_forward: bool,
        limit: usize,
    ) -> PyResult<Vec<u64>> {
        let address = self::address("address", address)?;
        guard(|| Ok(self.0.reader.at(block.state())?.changes_of(address, start, is_forward, limit)?))
    }

    fn addresses<'py>(
        &self,
        py: Python<'py>,
        number: u64,
        block_hash: &[u8],
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let block = BlockNumHash { number, hash: hash("block hash", block_hash)? };
        let found = py.detach(|| guard(|| Ok(self.0.reader.at(block)?.addresses()?)))?;
        Ok(found.iter().map(|address| PyBytes::new(py, address.as_slice())).collect())
    }

    fn slots<'py>(
        &self,
        py: Python<'py>,
        address: &[u8],
        number: u64,
        block_hash: &[u8],
    ) -> PyResult<Vec<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)>> {
        let address = self::address("address", address)?;
        let block = BlockNumHash { number, hash: hash("block hash", block_hash)? };
        let found = py.detach(|| guard(|| Ok(self.0.reader.at(block)?.slots(address)?)))?;
        let mut slots: Vec<_> = found.into_iter().collect();
        slots.sort_unstable();
        let word = |word: U256| PyBytes::new(py, &word.to_be_bytes::<32>());
        Ok(slots.into_iter().map(|(slot, value)| (word(slot), word(value))).collect())
    }

    #[pyo3(signature = (address, slots, block, *, changes=usize::MAX, cancel=None))]
    fn proof<'py>(
        &self,
        py: Python<'py>,
        address: &[u8],
        slots: Vec<Vec<u8>>,
        block: StateBlock,
        changes: usize,
        cancel: Option<PyRef<'_, CancelFlag>>,
    ) -> PyResult<ProofTuple<'py>> {
        let address = self::address("address", address)?;
        let slots: Vec<_> = slots.iter().map(|slot| hash("slot", slot)).collect::<PyResult<_>>()?;
        let cancel = cancel.map(|flag| flag.0.clone());
        let bounds = Bounds::back(cancel.as_deref(), changes);
        let proof = py.detach(|| {
            guard_collecting_misses(|| Ok(self.0.reader.proof(address, &slots, block.state(), bounds)?))
        })?;
        Ok(proof_tuple(py, &proof))
    }

    #[pyo3(signature = (
        header, message, *, gas_cap, budget=None, cancel=None, state_overrides=None, block_overrides=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "each is a choice of the caller")]
    fn call(
        &self,
        py: Python<'_>,
        header: CallBase,
        message: &Message,
        gas_cap: u64,
        budget: Option<u64>,
        cancel: Option<PyRef<'_, CancelFlag>>,
        state_overrides: Option<&[u8]>,
        block_overrides: Option<&[u8]>,
    ) -> PyResult<Py<PyAny>> {
        let overrides = guard(|| Overrides::parse(state_overrides, block_overrides))?;
        let (result, console_messages) =
            self.run(py, &header, overrides, budget, cancel, |site, work_budget| {
                call::call(site, &message.0, gas_cap, work_budget)
            })?;
        self.keep_console_messages(&result, console_messages);
        outcome(py, result)
    }

    #[pyo3(signature = (
        header, message, *, gas_cap, budget=None, cancel=None, state_overrides=None, block_overrides=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "each is a choice of the caller")]
    fn estimate_gas(
        &self,
        py: Python<'_>,
        header: CallBase,
        message: &Message,
        gas_cap: u64,
        budget: Option<u64>,
        cancel: Option<PyRef<'_, CancelFlag>>,
        state_overrides: Option<&[u8]>,
        block_overrides: Option<&[u8]>,
    ) -> PyResult<Py<PyAny>> {
        let overrides = guard(|| Overrides::parse(state_overrides, block_overrides))?;
        let (result, console_messages) =
            self.run(py, &header, overrides, budget, cancel, |site, work_budget| {
                call::estimate(site, &message.0, gas_cap, work_budget)
            })?;
        match result {
            Estimate::Gas(gas) => gas.into_py_any(py),
            Estimate::Failed(failure) => {
                self.keep_console_messages(&failure, console_messages);
                outcome(py, failure)
            }
        }
    }

    fn begin_console(&self) {
        self.0.console.begin();
    }

    fn take_console<'py>(&self, py: Python<'py>) -> (Vec<Bound<'py, PyBytes>>, usize) {
        console_tuple(py, &self.0.console.take())
    }

    #[pyo3(signature = (header, simulation, *, changes=usize::MAX, cancel=None))]
    fn simulate<'py>(
        &self,
        py: Python<'py>,
        header: CallBase,
        simulation: PyRef<'_, Simulation>,
        changes: usize,
        cancel: Option<PyRef<'_, CancelFlag>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (request, cancel) = (simulation.0.clone(), cancel.map(|flag| flag.0.clone()));
        let text = inline_or_detached(py, false, || {
            let work_budget = WorkBudget::new(None, cancel);
            simulate(&self.0.spec, &self.0.reader, header.base(), request, &work_budget, changes)
        })?;
        Ok(PyBytes::new(py, &text))
    }

    #[pyo3(signature = (parent, attributes, transactions, *, senders=None))]
    fn build_block(
        &self,
        py: Python<'_>,
        parent: RowPair,
        attributes: &BlockAttributes,
        transactions: Vec<PyBackedBytes>,
        senders: Option<Vec<Option<PyBackedBytes>>>,
    ) -> PyResult<(Py<BuiltBlock>, Vec<Refused>)> {
        built(py, &transactions, senders, |candidates| {
            self.0.build_block(&(&parent.0, &parent.1), &attributes.0, candidates)
        })
    }

    #[pyo3(signature = (parent, attributes, transactions, *, senders=None, on=None))]
    fn build_next(
        &self,
        py: Python<'_>,
        parent: RowPair,
        attributes: &BlockAttributes,
        transactions: Vec<PyBackedBytes>,
        senders: Option<Vec<Option<PyBackedBytes>>>,
        on: Option<PyRef<'_, BuiltBlock>>,
    ) -> PyResult<(Py<BuiltBlock>, Vec<Refused>)> {
        let on = on.map(|block| block.0.clone());
        built(py, &transactions, senders, |candidates| {
            self.0.build_next(&(&parent.0, &parent.1), on, &attributes.0, candidates)
        })
    }
}

impl State {
    /// Keep the console messages of a run, unless it was interrupted and will run again.
    pub fn keep_console_messages(&self, outcome: &Outcome, console_messages: ConsoleMessages) {
        if !matches!(outcome, Outcome::Interrupted { .. }) {
            self.0.console.append(console_messages);
        }
    }

    /// Return the result of `work` at a call site, and the console messages: with a budget while holding the
    /// interpreter's lock, else without it.
    pub fn run<T: Send>(
        &self,
        py: Python<'_>,
        header: &CallBase,
        overrides: Overrides,
        budget: Option<u64>,
        cancel: Option<PyRef<'_, CancelFlag>>,
        work: impl FnOnce(CallSite<'_>, &WorkBudget) -> Result<T, Error> + Send,
    ) -> PyResult<(T, ConsoleMessages)> {
        let cancel = cancel.map(|flag| flag.0.clone());
        inline_or_detached(py, budget.is_some(), || {
            let work_budget = WorkBudget::new(budget, cancel);
            let result = self.0.at_block(header.base(), overrides, |site| work(site, &work_budget))?;
            Ok((result, work_budget.take_console_messages()))
        })
    }
}

fn head_tuple(py: Python<'_>, head: Head) -> HeadTuple<'_> {
    (head.number, PyBytes::new(py, head.hash.as_slice()))
}

register! {
    classes: State, StateChange;
}
