//! `State`: one chain's EVM state.

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
use crate::bindings::descriptors::duplicate;
use crate::bindings::errors::{guard, guard_collecting_misses, values, MissedValues};
use crate::bindings::numbers::{address, hash, Number};
use crate::bindings::store;
use crate::engine::{Engine, Rows};
use crate::error::Error;
use crate::evm::build::{self, Candidate, Refused};
use crate::evm::call::{
    self, parse_patches, CallSite, ConsoleMessages, Estimate, Outcome, Overrides, WorkBudget,
};
use crate::evm::simulate::simulate;
use crate::state::{Bounds, Durability, Head, Miss, Proved, SlotProof, Step};

/// The EVM state of one chain in a folder of its own; to be opened after a fork.
#[pyclass(frozen, module = "wsnode._native.evm")]
pub struct State(pub Arc<Engine>);

type CommittedTuple<'py> = (usize, u64, Bound<'py, PyBytes>, Bound<'py, PyBytes>);
type HeadTuple<'py> = (u64, Bound<'py, PyBytes>);
type Nodes<'py> = Vec<Bound<'py, PyBytes>>;
type ProofTuple<'py> = (Nodes<'py>, Vec<(Bound<'py, PyBytes>, Nodes<'py>)>, Bound<'py, PyBytes>);
type AccountTuple<'py> = (u64, Number, Bound<'py, PyBytes>);

#[pymethods]
impl State {
    #[new]
    #[pyo3(signature = (path, spec, *, writer, proved=false))]
    fn new(py: Python<'_>, path: PathBuf, spec: &ChainSpec, writer: bool, proved: bool) -> PyResult<Self> {
        let spec = spec.0.clone();
        py.detach(|| guard(|| Engine::open(&path, spec, writer, proved))).map(|engine| Self(Arc::new(engine)))
    }

    /// The same state, all of whose reads, one after another, see the last commit of now.
    fn pin(&self) -> PyResult<Self> {
        guard(|| self.0.pin()).map(|engine| Self(Arc::new(engine)))
    }

    /// Return if the state's file is where it was opened, and is open again after a failed write, or may soon be.
    fn require_usable(&self) -> PyResult<()> {
        self.0.require_usable().map_err(store::raised)
    }

    /// Return if no read has met a damaged row since the state was opened.
    fn require_undamaged(&self) -> PyResult<()> {
        self.0.reader.require_undamaged().map_err(store::raised)
    }

    /// How often a read has met a damaged row since the state was opened.
    #[getter]
    fn damaged(&self) -> u64 {
        self.0.reader.damaged()
    }

    /// Number and hash of the head, with blocks that are not committed.
    #[getter]
    fn head<'py>(&self, py: Python<'py>) -> PyResult<HeadTuple<'py>> {
        guard(|| self.0.head()).map(|head| head_tuple(py, head))
    }

    /// Number and hash of the head on the disk, whichever process wrote it.
    #[getter]
    fn committed_head<'py>(&self, py: Python<'py>) -> PyResult<HeadTuple<'py>> {
        guard(|| self.0.committed_head()).map(|head| head_tuple(py, head))
    }

    /// Verify and execute blocks on top of the head, in memory until `commit`, up to the first invalid one.
    ///
    /// With `attributes`, the first one's gas limit and base fee are what its maker chose.
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

    /// The first rule that a block violates, as far as it shows without executing it.
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

    /// Verify and execute a block after any committed or built one, and leave the state as it is.
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

    /// Put a built block, which follows the head, on top of it, in memory until `commit`.
    fn accept(&self, py: Python<'_>, block: PyRef<'_, BuiltBlock>) -> PyResult<()> {
        let built = block.0.clone();
        py.detach(|| guard(|| self.0.accept(&built)))
    }

    /// Write every executed block; without `sync` a power cut may lose it, a killed process does not.
    #[pyo3(signature = (*, sync))]
    fn commit(&self, py: Python<'_>, sync: bool) -> PyResult<()> {
        py.detach(|| guard(|| self.0.commit(sync)))
    }

    /// Write every executed block, to be read at once; until `sync_now` a power cut takes the store back to what it was.
    fn commit_whole(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| guard(|| self.0.commit(Durability::NoMetaSync)))
    }

    /// Bring everything committed to the disk.
    fn sync_now(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| guard(|| self.0.sync_now()))
    }

    /// The store's version, and number, hash and state root of the head on the disk that it has.
    fn committed<'py>(&self, py: Python<'py>) -> PyResult<CommittedTuple<'py>> {
        let (version, head) = guard(|| Ok(self.0.reader.committed()?))?;
        let root = PyBytes::new(py, head.state_root.as_slice());
        Ok((version, head.number, PyBytes::new(py, head.hash.as_slice()), root))
    }

    /// Write what is committed at some moment of the call to an open file, as a store without free pages.
    fn copy(&self, py: Python<'_>, descriptor: i32) -> PyResult<()> {
        let mut target = duplicate(descriptor)?;
        py.detach(|| guard(|| Ok(self.0.reader.copy(&mut target)?)))
    }

    /// The state root after the head on the disk, patches included.
    #[getter]
    fn state_root<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let head = guard(|| self.0.committed_head())?;
        Ok(PyBytes::new(py, head.state_root.as_slice()))
    }

    /// Go back to an earlier block and return its hash; what is not committed is forgotten.
    ///
    /// With a state root, patches of that block are undone until its state has that root again.
    #[pyo3(signature = (number, *, state_root=None))]
    fn unwind<'py>(
        &self,
        py: Python<'py>,
        number: u64,
        state_root: Option<&[u8]>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let root = state_root.map(|root| hash("state_root", root)).transpose()?;
        let hash = py.detach(|| guard(|| self.0.unwind(number, root)))?;
        Ok(PyBytes::new(py, hash.as_slice()))
    }

    /// Forget the states before a committed block: `most` values are looked at. Whether there may be more.
    #[pyo3(signature = (number, *, most, sync))]
    fn prune(&self, py: Python<'_>, number: u64, most: usize, sync: bool) -> PyResult<bool> {
        py.detach(|| guard(|| self.0.prune(number, most, sync)))
    }

    /// Change the state after the head in place, as state overrides say, and return its new root.
    #[pyo3(signature = (changes, *, sync=true))]
    fn patch<'py>(&self, py: Python<'py>, changes: &[u8], sync: bool) -> PyResult<Bound<'py, PyBytes>> {
        let root = py.detach(|| guard(|| self.0.patch(&parse_patches(changes)?, sync)))?;
        Ok(PyBytes::new(py, root.as_slice()))
    }

    /// Verify what another node sent of the state after the first block, and keep it: all, or none if one is wrong.
    ///
    /// Of each account its address, the nodes that prove it, slots with the nodes that prove them, and its code unless
    /// that is known.
    fn keep_proofs(&self, py: Python<'_>, proofs: Vec<AccountProofTuple>) -> PyResult<()> {
        let proofs: Vec<_> = proofs.into_iter().map(proved).collect::<PyResult<_>>()?;
        py.detach(|| guard(|| Ok(self.0.base()?.keep(&proofs)?)))
    }

    /// Keep verified hashes of blocks before the first one.
    fn keep_hashes(&self, py: Python<'_>, hashes: Vec<(u64, PyBackedBytes)>) -> PyResult<()> {
        let hashes = hashes_of(hashes)?;
        py.detach(|| guard(|| Ok(self.0.base()?.keep_hashes(&hashes)?)))
    }

    /// Take note of the verified state root of a block: where states are known by proofs alone, they are read by it.
    fn note_root(&self, number: u64, block_hash: &[u8], state_root: &[u8]) -> PyResult<()> {
        let (hash, state_root) = (hash("block hash", block_hash)?, hash("state root", state_root)?);
        guard(|| self.0.block_states())?.note(Head { number, hash, state_root });
        Ok(())
    }

    /// As `keep_proofs`, of the state with a root that is a verified block's.
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

    /// How many of the blocks with these state roots, newest first, lead down to all of these values that is known.
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

    /// Keep what of these values after a block follows from earlier states, and return the accounts and slots of which
    /// nothing does.
    ///
    /// `steps` lead down from that block: its access list with its parent's state root, the parent's, and so on. The
    /// lists are verified.
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

    /// Keep verified hashes of blocks before the one with the hash `of`.
    fn keep_hashes_of(&self, py: Python<'_>, of: &[u8], hashes: Vec<(u64, PyBackedBytes)>) -> PyResult<()> {
        let of = hash("block hash", of)?;
        let hashes = hashes_of(hashes)?;
        py.detach(|| guard(|| Ok(self.0.block_states()?.keep_hashes(of, &hashes)?)))
    }

    /// Nonce, balance and code hash of an account after a block, or nothing.
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

    /// The code of an account after a block; empty if it has none.
    fn code<'py>(&self, py: Python<'py>, address: &[u8], block: Block) -> PyResult<Bound<'py, PyBytes>> {
        let address = self::address("address", address)?;
        let code = guard(|| {
            let view = self.0.reader.at(block.state())?;
            let account = view.account(address)?;
            Ok::<_, Error>(account.map(|found| view.code(found.code_hash)).transpose()?.unwrap_or_default())
        })?;
        Ok(PyBytes::new(py, &code))
    }

    /// The code with this hash, None if no contract ever had it.
    fn find_code<'py>(&self, py: Python<'py>, code_hash: &[u8]) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let code_hash = hash("code hash", code_hash)?;
        let code = guard(|| Ok(self.0.reader.find_code(code_hash)?))?;
        Ok(code.map(|code| PyBytes::new(py, &code)))
    }

    /// The 32 bytes in a slot after a block.
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

    /// The blocks up to a committed one in which nonce, balance or code of an account changed, `limit` at most:
    /// from `start` on, oldest first, or from `start` back.
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

    /// Every account after a committed block, in the order of their addresses.
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

    /// Every slot of an account that is not zero after a committed block, with its value.
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

    /// Nodes that prove an account after a block, value and nodes of each slot, and the account's storage root.
    ///
    /// `changes` bounds how far back the block may lie, in bytes of the lists of what changed since.
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

    /// Run a message on the state after a block, in its environment; `header` is the row of a committed block,
    /// or an uncommitted one.
    ///
    /// With a budget, of jumps and calls, the run holds the interpreter's lock and is interrupted beyond it.
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

    /// The lowest gas limit with which a message succeeds, or how it fails whatever its gas.
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

    /// Keep what calls will say to the console, for `take_console`.
    fn begin_console(&self) {
        self.0.console.begin();
    }

    /// What calls have said to the console since the last time, and how many messages were left out.
    fn take_console<'py>(&self, py: Python<'py>) -> (Vec<Bound<'py, PyBytes>>, usize) {
        console_tuple(py, &self.0.console.take())
    }

    /// The blocks of a simulation on top of a block, as a JSON array.
    ///
    /// `changes` bounds how far back that block may lie, in bytes of the lists of what changed since.
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

    /// Build the block after a committed one, whose rows are given, and list the transactions left out, with reasons.
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

    /// Build the block after the head as `build_block`, to be accepted next: then nothing is executed again.
    #[pyo3(signature = (parent, attributes, transactions, *, senders=None))]
    fn build_next(
        &self,
        py: Python<'_>,
        parent: (PyBackedBytes, PyBackedBytes),
        attributes: PyRef<'_, BlockAttributes>,
        transactions: Vec<PyBackedBytes>,
        senders: Option<Vec<Option<PyBackedBytes>>>,
    ) -> PyResult<(Py<BuiltBlock>, Vec<Refused>)> {
        let attributes = &attributes.0;
        built(py, &transactions, senders, |candidates| {
            self.0.build_next(&(&parent.0, &parent.1), attributes, candidates)
        })
    }
}

impl State {
    /// Keep what a run has said to the console, unless it will be run again.
    pub fn keep_console_messages(&self, outcome: &Outcome, console_messages: ConsoleMessages) {
        if !matches!(outcome, Outcome::Interrupted { .. }) {
            self.0.console.append(console_messages);
        }
    }

    /// What `work` returns where a message is run: within a budget at once, else without the interpreter's lock.
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

/// The block that `build` makes of transactions, without the interpreter's lock.
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

/// An account with its proof, its slots with theirs, and its code.
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

/// The impersonated sender of each of `count` transactions.
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

/// Run `work` at once, or without the interpreter's lock: taking that back beside a busy thread costs up to 5 ms.
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
    module.add_class::<State>()
}
