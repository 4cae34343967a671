//! `State`: the EVM state of one chain.

use std::path::PathBuf;
use std::sync::Arc;

use alloy_eips::BlockNumHash;
use alloy_primitives::{Address, Bytes, B256, U256};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use pyo3::IntoPyObjectExt;

use super::blocks::{exception, Execution, UnverifiedBlock};
use super::building::{Block, BlockAttributes, BuiltBlock, Header};
use super::messages::{console_tuple, outcome, CancelFlag, Message};
use super::simulate::Simulation;
use super::spec::ChainSpec;
use crate::bindings::errors::{guard, guard_collecting_misses, values, MissedValues};
use crate::bindings::numbers::{address, hash, Number};
use crate::bindings::store::{PyEnvironment, Writer};
use crate::engine::{Engine, Rows};
use crate::error::Error;
use crate::evm::build::{self, Candidate, Refused};
use crate::evm::call::{
    self, parse_patches, CallSite, ConsoleMessages, Estimate, Outcome, Overrides, WorkBudget,
};
use crate::evm::simulate::simulate;
use crate::state::{Bounds, Head, Miss, Proved, SlotProof, Staged, StateError, Step};

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
    /// Write the change, in a transaction of the chain's store.
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
type Nodes<'py> = Vec<Bound<'py, PyBytes>>;
type ProofTuple<'py> = (Nodes<'py>, Vec<(Bound<'py, PyBytes>, Nodes<'py>)>, Bound<'py, PyBytes>);
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

    /// Return the same state with its reads, which must not overlap, fixed to the last commit.
    fn pin(&self) -> PyResult<Self> {
        guard(|| self.0.pin()).map(|engine| Self(Arc::new(engine)))
    }

    /// Return number and hash of the head, blocks that are not committed included.
    #[getter]
    fn head<'py>(&self, py: Python<'py>) -> PyResult<HeadTuple<'py>> {
        guard(|| self.0.head()).map(|head| head_tuple(py, head))
    }

    /// Return number and hash of the head on the disk, whichever process wrote it.
    #[getter]
    fn committed_head<'py>(&self, py: Python<'py>) -> PyResult<HeadTuple<'py>> {
        guard(|| self.0.committed_head()).map(|head| head_tuple(py, head))
    }

    /// Verify and execute blocks on top of the head up to the first invalid one, in memory until `commit`.
    ///
    /// With `attributes`, the first block has the gas limit and base fee that its maker chose.
    #[pyo3(signature = (blocks, ancestors, *, total_difficulty, attributes=None))]
    fn execute(
        &self,
        py: Python<'_>,
        blocks: Vec<PyRef<'_, UnverifiedBlock>>,
        ancestors: Vec<(PyBackedBytes, PyBackedBytes)>,
        total_difficulty: Number,
        attributes: Option<&BlockAttributes>,
    ) -> PyResult<Execution> {
        let chosen = attributes.map(|attributes| attributes.0.chosen()).unwrap_or_default();
        let blocks: Vec<_> = blocks.iter().map(|block| block.0.clone()).collect();
        py.detach(|| guard(|| self.0.execute(&blocks, &rows(&ancestors), total_difficulty.0, chosen)))
            .map(Execution::from)
    }

    /// Return the first rule without execution that a block breaks, or None.
    #[pyo3(signature = (block, ancestors, *, total_difficulty, attributes=None))]
    fn verify_header(
        &self,
        py: Python<'_>,
        block: &UnverifiedBlock,
        ancestors: Vec<(PyBackedBytes, PyBackedBytes)>,
        total_difficulty: Number,
        attributes: Option<&BlockAttributes>,
    ) -> PyResult<Option<Py<PyAny>>> {
        let chosen = attributes.map(|attributes| attributes.0.chosen()).unwrap_or_default();
        let invalid =
            guard(|| self.0.verify_header(&block.0, &rows(&ancestors), total_difficulty.0, chosen))?;
        Ok(invalid.map(|invalid| exception(py, &invalid)))
    }

    /// Verify and execute a block after any committed or built one. The stored state does not change.
    #[pyo3(signature = (block, parent, ancestors, *, total_difficulty, changes=usize::MAX))]
    fn try_block(
        &self,
        py: Python<'_>,
        block: PyRef<'_, UnverifiedBlock>,
        parent: Block,
        ancestors: Vec<(PyBackedBytes, PyBackedBytes)>,
        total_difficulty: Number,
        changes: usize,
    ) -> PyResult<Py<PyAny>> {
        let (block, parent) = (block.0.clone(), parent.parent());
        let tried = py.detach(|| {
            guard(|| self.0.try_block(&block, parent, &rows(&ancestors), total_difficulty.0, changes))
        })?;
        match tried {
            Ok(built) => Ok(Py::new(py, BuiltBlock::new(built))?.into_any()),
            Err(invalid) => Ok(exception(py, &invalid)),
        }
    }

    /// Put a built block on top of the head, which is its parent, in memory until `commit`.
    fn accept(&self, py: Python<'_>, block: PyRef<'_, BuiltBlock>) -> PyResult<()> {
        let built = block.0.clone();
        py.detach(|| guard(|| self.0.accept(&built)))
    }

    /// Return the change that begins a chain with the genesis state, or None if the chain has begun.
    fn stage_genesis(&self, py: Python<'_>) -> PyResult<Option<StateChange>> {
        py.detach(|| guard(|| self.0.stage_genesis())).map(StateChange::of)
    }

    /// Return the change that writes executed, accepted and rewound blocks, or None if there are none.
    fn stage(&self, py: Python<'_>) -> PyResult<Option<StateChange>> {
        py.detach(|| guard(|| self.0.stage())).map(StateChange::of)
    }

    /// Take note that a change was committed.
    #[pyo3(signature = (change, /))]
    fn settle(&self, py: Python<'_>, change: &StateChange) -> PyResult<()> {
        let staged = change.0.clone();
        py.detach(|| guard(|| self.0.settle(&staged)))
    }

    /// Drop all that was not committed.
    fn discard(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| guard(|| self.0.discard()))
    }

    /// Return the state root after the head on the disk, patches included.
    #[getter]
    fn state_root<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let head = guard(|| self.0.committed_head())?;
        Ok(PyBytes::new(py, head.state_root.as_slice()))
    }

    /// Drop all uncommitted changes, and go back to an earlier block, in memory until the change is staged
    /// and committed.
    ///
    /// With a state root, patches of that block are undone until its state has this root again.
    #[pyo3(signature = (number, *, state_root=None))]
    fn rewind(&self, py: Python<'_>, number: u64, state_root: Option<&[u8]>) -> PyResult<()> {
        let root = state_root.map(|root| hash("state_root", root)).transpose()?;
        py.detach(|| guard(|| self.0.rewind(number, root)))
    }

    /// Return the change that deletes states before the first block of the chain, or None if there are none.
    /// It examines `most` values at most.
    #[pyo3(signature = (most, /))]
    fn stage_pruning(&self, py: Python<'_>, most: usize) -> PyResult<Option<StateChange>> {
        py.detach(|| guard(|| self.0.stage_pruning(most))).map(StateChange::of)
    }

    /// Return the change of the state after the head by state overrides, and the new root.
    #[pyo3(signature = (accounts, /))]
    fn stage_patch<'py>(
        &self,
        py: Python<'py>,
        accounts: &[u8],
    ) -> PyResult<(StateChange, Bound<'py, PyBytes>)> {
        let (root, staged) = py.detach(|| guard(|| self.0.stage_patch(&parse_patches(accounts)?)))?;
        Ok((StateChange(Arc::new(staged)), PyBytes::new(py, root.as_slice())))
    }

    /// Verify proofs of another node for the state after the first block, and keep the values: all, or none
    /// if one is wrong.
    ///
    /// For each account: its address, the nodes of its proof, slots with the nodes of their proofs, and its
    /// code, or None if the code is known.
    fn keep_proofs(&self, py: Python<'_>, proofs: Vec<AccountProofTuple>) -> PyResult<()> {
        let proofs: Vec<_> = proofs.into_iter().map(proved).collect::<PyResult<_>>()?;
        py.detach(|| guard(|| Ok(self.0.base()?.keep(&proofs)?)))
    }

    /// Keep verified hashes of blocks before the first one.
    fn keep_hashes(&self, py: Python<'_>, hashes: Vec<(u64, PyBackedBytes)>) -> PyResult<()> {
        let hashes = hashes_of(hashes)?;
        py.detach(|| guard(|| Ok(self.0.base()?.keep_hashes(&hashes)?)))
    }

    /// Keep the verified state root of a block. On a chain known by proofs alone, the block's state is read
    /// by it.
    fn note_root(&self, number: u64, block_hash: &[u8], state_root: &[u8]) -> PyResult<()> {
        let (hash, state_root) = (hash("block hash", block_hash)?, hash("state root", state_root)?);
        guard(|| self.0.block_states())?.note(Head { number, hash, state_root });
        Ok(())
    }

    /// Verify and keep proofs as `keep_proofs` does, for the state with the root of a verified block.
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

    /// Return how many of the blocks with these state roots, newest first, lead down to all known ones among
    /// these values.
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

    /// Keep the values after a block that follow from earlier states. Return the other accounts and slots.
    ///
    /// `steps` lead down from that block: its access list with its parent's state root, the parent's, and so
    /// on. The caller has verified the lists.
    fn carry<'py>(
        &self,
        py: Python<'py>,
        state_root: &[u8],
        steps: Vec<(PyBackedBytes, PyBackedBytes)>,
        accounts: Vec<PyBackedBytes>,
        slots: Vec<(PyBackedBytes, PyBackedBytes)>,
    ) -> PyResult<MissedValues<'py>> {
        let root = hash("state root", state_root)?;
        let steps: Vec<Step<'_>> = steps
            .iter()
            .map(|(list, root)| Ok((list.as_ref(), hash("state root", root)?)))
            .collect::<PyResult<_>>()?;
        let wanted = misses(&accounts, &slots)?;
        let others = py.detach(|| guard(|| Ok(self.0.block_states()?.carry(root, &steps, &wanted)?)))?;
        Ok(values(py, &others))
    }

    /// Keep verified hashes of blocks before the block with the hash `of`.
    fn keep_hashes_of(&self, py: Python<'_>, of: &[u8], hashes: Vec<(u64, PyBackedBytes)>) -> PyResult<()> {
        let of = hash("block hash", of)?;
        let hashes = hashes_of(hashes)?;
        py.detach(|| guard(|| Ok(self.0.block_states()?.keep_hashes(of, &hashes)?)))
    }

    /// Return nonce, balance in wei and code hash of an account after a block, or None.
    fn account<'py>(
        &self,
        py: Python<'py>,
        address: &[u8],
        block: Block,
    ) -> PyResult<Option<AccountTuple<'py>>> {
        let address = self::address("address", address)?;
        let account = guard(|| Ok(self.0.reader.at(block.state())?.account(address)?))?;
        Ok(account
            .map(|found| (found.nonce, Number(found.balance), PyBytes::new(py, found.code_hash.as_slice()))))
    }

    /// Return the code of an account after a block, empty if it has none.
    fn code<'py>(&self, py: Python<'py>, address: &[u8], block: Block) -> PyResult<Bound<'py, PyBytes>> {
        let address = self::address("address", address)?;
        let code = guard(|| {
            let view = self.0.reader.at(block.state())?;
            let account = view.account(address)?;
            Ok::<_, Error>(account.map(|found| view.code(found.code_hash)).transpose()?.unwrap_or_default())
        })?;
        Ok(PyBytes::new(py, &code))
    }

    /// Return the code with this hash, or None if no contract ever had it.
    fn find_code<'py>(&self, py: Python<'py>, code_hash: &[u8]) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let code_hash = hash("code hash", code_hash)?;
        let code = guard(|| Ok(self.0.reader.find_code(code_hash)?))?;
        Ok(code.map(|code| PyBytes::new(py, &code)))
    }

    /// Return the 32 bytes in a slot after a block.
    fn storage<'py>(
        &self,
        py: Python<'py>,
        address: &[u8],
        slot: &[u8],
        block: Block,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let address = self::address("address", address)?;
        let slot = hash("slot", slot)?;
        let value =
            guard(|| Ok(self.0.reader.at(block.state())?.storage(address, U256::from_be_bytes(slot.0))?))?;
        Ok(PyBytes::new(py, &value.to_be_bytes::<32>()))
    }

    /// Return the numbers of the blocks up to a committed one in which nonce, balance or code of an account
    /// changed, at most `limit`. They are from `start` on, oldest first, or from `start` back.
    #[pyo3(signature = (address, block, start, *, is_forward, limit))]
    fn changes_of(
        &self,
        address: &[u8],
        block: Block,
        start: u64,
        is_forward: bool,
        limit: usize,
    ) -> PyResult<Vec<u64>> {
        let address = self::address("address", address)?;
        guard(|| Ok(self.0.reader.at(block.state())?.changes_of(address, start, is_forward, limit)?))
    }

    /// Return the addresses of all accounts after a committed block, in ascending order.
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

    /// Return every slot of an account that is not zero after a committed block, with its value.
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

    /// Return nodes that prove an account after a block, value and nodes of each slot, and the account's
    /// storage root.
    ///
    /// `changes` bounds the bytes of change lists since the block.
    #[pyo3(signature = (address, slots, block, *, changes=usize::MAX, cancel=None))]
    fn proof<'py>(
        &self,
        py: Python<'py>,
        address: &[u8],
        slots: Vec<Vec<u8>>,
        block: Block,
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
        let proved =
            |slot: &SlotProof| (PyBytes::new(py, &slot.value.to_be_bytes::<32>()), nodes(py, &slot.nodes));
        let slots = proof.slots.iter().map(proved).collect();
        Ok((nodes(py, &proof.nodes), slots, PyBytes::new(py, proof.storage_root.as_slice())))
    }

    /// Run a message on the state after a block and return its outcome. `header` is the row of a committed
    /// block, or a built block.
    ///
    /// With a budget in jumps, the run holds the interpreter's lock and is interrupted beyond the budget.
    #[pyo3(signature = (
        header, message, *, gas_cap, budget=None, cancel=None, state_overrides=None, block_overrides=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "each is a choice of the caller")]
    fn call(
        &self,
        py: Python<'_>,
        header: Header,
        message: PyRef<'_, Message>,
        gas_cap: u64,
        budget: Option<u64>,
        cancel: Option<PyRef<'_, CancelFlag>>,
        state_overrides: Option<&[u8]>,
        block_overrides: Option<&[u8]>,
    ) -> PyResult<Py<PyAny>> {
        let overrides = guard(|| Overrides::parse(state_overrides, block_overrides))?;
        let message = &message.0;
        let (result, console_messages) =
            self.run(py, &header, overrides, budget, cancel, |site, work_budget| {
                Ok((call::call(site, message, gas_cap, work_budget)?, work_budget.take_console_messages()))
            })?;
        self.keep_console_messages(&result, console_messages);
        outcome(py, result)
    }

    /// Return the lowest gas limit with which a message succeeds, or the outcome if it fails with any gas.
    #[pyo3(signature = (
        header, message, *, gas_cap, budget=None, cancel=None, state_overrides=None, block_overrides=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "each is a choice of the caller")]
    fn estimate_gas(
        &self,
        py: Python<'_>,
        header: Header,
        message: PyRef<'_, Message>,
        gas_cap: u64,
        budget: Option<u64>,
        cancel: Option<PyRef<'_, CancelFlag>>,
        state_overrides: Option<&[u8]>,
        block_overrides: Option<&[u8]>,
    ) -> PyResult<Py<PyAny>> {
        let overrides = guard(|| Overrides::parse(state_overrides, block_overrides))?;
        let message = &message.0;
        let (result, console_messages) =
            self.run(py, &header, overrides, budget, cancel, |site, work_budget| {
                Ok((
                    call::estimate(site, message, gas_cap, work_budget)?,
                    work_budget.take_console_messages(),
                ))
            })?;
        match result {
            Estimate::Gas(gas) => gas.into_py_any(py),
            Estimate::Failed(failure) => {
                self.keep_console_messages(&failure, console_messages);
                outcome(py, failure)
            }
        }
    }

    /// Keep console messages of calls from now on, for `take_console`.
    fn begin_console(&self) {
        self.0.console.begin();
    }

    /// Return the console messages of calls since the last time, and the number of dropped ones.
    fn take_console<'py>(&self, py: Python<'py>) -> (Vec<Bound<'py, PyBytes>>, usize) {
        console_tuple(py, &self.0.console.take())
    }

    /// Return the blocks of a simulation on top of a block, as a JSON array.
    ///
    /// `changes` bounds the bytes of change lists since that block.
    #[pyo3(signature = (header, simulation, *, changes=usize::MAX, cancel=None))]
    fn simulate<'py>(
        &self,
        py: Python<'py>,
        header: Header,
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

    /// Build the block after a committed one, given by its rows, and return it with the refused transactions
    /// and reasons.
    ///
    /// `senders` has, for each transaction, its impersonated sender or None.
    #[pyo3(signature = (parent, attributes, transactions, *, senders=None))]
    fn build_block(
        &self,
        py: Python<'_>,
        parent: (PyBackedBytes, PyBackedBytes),
        attributes: PyRef<'_, BlockAttributes>,
        transactions: Vec<PyBackedBytes>,
        senders: Option<Vec<Option<PyBackedBytes>>>,
    ) -> PyResult<(Py<BuiltBlock>, Vec<Refused>)> {
        let attributes = &attributes.0;
        built(py, &transactions, senders, |candidates| {
            self.0.build_block(&(&parent.0, &parent.1), attributes, candidates)
        })
    }

    /// Build the block after the head as `build_block` does. If it is accepted next, nothing is executed
    /// again. `on` is the parent if it is not committed.
    #[pyo3(signature = (parent, attributes, transactions, *, senders=None, on=None))]
    fn build_next(
        &self,
        py: Python<'_>,
        parent: (PyBackedBytes, PyBackedBytes),
        attributes: PyRef<'_, BlockAttributes>,
        transactions: Vec<PyBackedBytes>,
        senders: Option<Vec<Option<PyBackedBytes>>>,
        on: Option<PyRef<'_, BuiltBlock>>,
    ) -> PyResult<(Py<BuiltBlock>, Vec<Refused>)> {
        let (attributes, on) = (&attributes.0, on.map(|block| block.0.clone()));
        built(py, &transactions, senders, |candidates| {
            self.0.build_next(&(&parent.0, &parent.1), on, attributes, candidates)
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

    /// Return the result of `work` at a call site: with a budget while holding the interpreter's lock, else
    /// without it.
    pub fn run<T: Send>(
        &self,
        py: Python<'_>,
        header: &Header,
        overrides: Overrides,
        budget: Option<u64>,
        cancel: Option<PyRef<'_, CancelFlag>>,
        work: impl FnOnce(CallSite<'_>, &WorkBudget) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let cancel = cancel.map(|flag| flag.0.clone());
        inline_or_detached(py, budget.is_some(), || {
            let work_budget = WorkBudget::new(budget, cancel);
            self.0.at_block(header.base(), overrides, |site| work(site, &work_budget))
        })
    }
}

/// Return the built block and the refused transactions. `build` runs without the interpreter's lock.
fn built(
    py: Python<'_>,
    transactions: &[PyBackedBytes],
    senders: Option<Vec<Option<PyBackedBytes>>>,
    build: impl FnOnce(&[Candidate<'_>]) -> Result<(build::BuiltBlock, Vec<Refused>), Error> + Send,
) -> PyResult<(Py<BuiltBlock>, Vec<Refused>)> {
    let senders = impersonated(senders, transactions.len())?;
    let (block, refused) = inline_or_detached(py, false, || {
        let candidate = |(encoded, impersonated)| Candidate { encoded, impersonated };
        let encoded = transactions.iter().map(AsRef::as_ref);
        let candidates: Vec<_> = encoded.zip(senders).map(candidate).collect();
        build(&candidates)
    })?;
    Ok((Py::new(py, BuiltBlock::new(block))?, refused))
}

/// Address of an account, its proof, its slots with their proofs, and its code.
type AccountProofTuple =
    (PyBackedBytes, Vec<PyBackedBytes>, Vec<(PyBackedBytes, Vec<PyBackedBytes>)>, Option<PyBackedBytes>);

fn hashes_of(hashes: Vec<(u64, PyBackedBytes)>) -> PyResult<Vec<(u64, B256)>> {
    hashes.into_iter().map(|(number, name)| Ok((number, hash("hash", &name)?))).collect()
}

fn misses(accounts: &[PyBackedBytes], slots: &[(PyBackedBytes, PyBackedBytes)]) -> PyResult<Vec<Miss>> {
    let accounts = accounts.iter().map(|name| Ok(Miss::Account(address("address", name)?)));
    let slots = slots.iter().map(|(name, slot)| {
        Ok(Miss::Slot(address("address", name)?, U256::from_be_bytes(hash("slot", slot)?.0)))
    });
    accounts.chain(slots).collect()
}

fn proved((name, nodes, slots, code): AccountProofTuple) -> PyResult<Proved> {
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

/// Return the impersonated sender of each of `count` transactions, or None for a signed one.
fn impersonated(senders: Option<Vec<Option<PyBackedBytes>>>, count: usize) -> PyResult<Vec<Option<Address>>> {
    let Some(senders) = senders else {
        return Ok(vec![None; count]);
    };
    if senders.len() != count {
        return Err(PyValueError::new_err(format!("{} senders for {count} transactions", senders.len())));
    }
    let read = |sender: Option<PyBackedBytes>| sender.map(|name| address("sender", &name)).transpose();
    senders.into_iter().map(read).collect()
}

/// Run `work` while holding the interpreter's lock, or without it. Taking the lock back beside a busy thread
/// costs up to 5 ms.
fn inline_or_detached<T: Send>(
    py: Python<'_>,
    is_inline: bool,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<T> {
    if is_inline {
        guard_collecting_misses(work)
    } else {
        py.detach(|| guard_collecting_misses(work))
    }
}

fn nodes<'py>(py: Python<'py>, nodes: &[Bytes]) -> Nodes<'py> {
    nodes.iter().map(|node| PyBytes::new(py, node)).collect()
}

fn head_tuple(py: Python<'_>, head: Head) -> HeadTuple<'_> {
    (head.number, PyBytes::new(py, head.hash.as_slice()))
}

fn rows(pairs: &[(PyBackedBytes, PyBackedBytes)]) -> Vec<Rows<'_>> {
    pairs.iter().map(|(header, body)| (header.as_ref(), body.as_ref())).collect()
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<State>()?;
    module.add_class::<StateChange>()
}
