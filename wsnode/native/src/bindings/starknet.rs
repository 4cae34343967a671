//! Python classes and functions of Starknet's hashes, tries, proofs and blocks.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use starknet_types_core::felt::Felt;

use super::errors::with_attributes;
use crate::starknet::block::{self, BlockError, BlockProof, Derived};
use crate::starknet::class_hash::{self, EntryPoints};
use crate::starknet::commitment;
use crate::starknet::felts::{felts, records, short_string, PackingError};
use crate::starknet::proof::{
    self, ContractQuestion, ProofQuestion, ProvedContract, ProvedState, StateOfBlock, StorageProofError,
};
use crate::starknet::state::{AskedPaths, StarknetStateTries, StateDiff};

create_exception!(wsnode._native.starknet, RefusedBlockError, PyException);
create_exception!(wsnode._native.starknet, RefusedProofError, PyException);

impl From<BlockError> for PyErr {
    fn from(refused: BlockError) -> Self {
        with_attributes(RefusedBlockError::new_err(refused.to_string()), |_, error| {
            let (expected, actual) = match &refused {
                BlockError::Malformed { reason, .. } => ("a well-formed value", reason),
                BlockError::Mismatch { expected, actual, .. } => (expected.as_str(), actual),
            };
            error.setattr("member", refused.member())?;
            error.setattr("expected", expected)?;
            error.setattr("actual", actual)
        })
    }
}

impl From<StorageProofError> for PyErr {
    fn from(refused: StorageProofError) -> Self {
        with_attributes(RefusedProofError::new_err(refused.to_string()), |_, error| {
            error.setattr("rule", refused.rule())
        })
    }
}

impl From<PackingError> for PyErr {
    fn from(error: PackingError) -> Self {
        PyValueError::new_err(error.to_string())
    }
}

/// Tries of a whole Starknet state, in memory.
#[pyclass(name = "StarknetTries", module = "wsnode._native.starknet")]
#[derive(Default)]
struct StarknetTries(StarknetStateTries);

#[pymethods]
impl StarknetTries {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn apply(
        &mut self,
        py: Python<'_>,
        storage: &[u8],
        class_hashes: &[u8],
        nonces: &[u8],
        compiled_classes: &[u8],
    ) -> PyResult<()> {
        let change = change(storage, class_hashes, nonces, compiled_classes)?;
        py.detach(|| self.0.apply(&change));
        Ok(())
    }

    fn root<'py>(&mut self, py: Python<'py>, always_joined: bool) -> Bound<'py, PyBytes> {
        let root = py.detach(|| self.0.root(always_joined));
        to_bytes(py, root)
    }

    fn prove<'py>(
        &mut self,
        py: Python<'py>,
        class_hashes: &[u8],
        contracts: &[u8],
        storage: Vec<(PyBackedBytes, PyBackedBytes)>,
        block_hash: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        let asked = AskedPaths {
            class_hashes: felts(class_hashes)?,
            contracts: felts(contracts)?,
            storage: contracts_with_keys(&storage)?,
        };
        let block_hash = one(block_hash)?;
        let text = py.detach(|| proof::render(&self.0.prove(&asked), block_hash));
        Ok(PyBytes::new(py, &text))
    }
}

/// Values of a verified block that its hash proves, `old_root` excepted.
#[pyclass(name = "StarknetBlockProof", frozen, module = "wsnode._native.starknet")]
struct ProofObject(BlockProof);

#[pymethods]
impl ProofObject {
    #[getter]
    fn number(&self) -> u64 {
        self.0.number
    }

    #[getter]
    fn hash<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        to_bytes(py, self.0.hash)
    }

    #[getter]
    fn parent_hash<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        to_bytes(py, self.0.parent_hash)
    }

    #[getter]
    fn new_root<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        to_bytes(py, self.0.new_root)
    }

    #[getter]
    fn old_root<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.0.old_root.map(|root| to_bytes(py, root))
    }

    #[getter]
    fn formula(&self) -> &'static str {
        self.0.formula.name()
    }

    #[getter]
    fn transaction_count(&self) -> u64 {
        self.0.transaction_count
    }

    #[getter]
    fn event_count(&self) -> u64 {
        self.0.event_count
    }

    #[getter]
    fn transaction_commitment<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        to_bytes(py, self.0.commitments.transactions)
    }

    #[getter]
    fn event_commitment<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        to_bytes(py, self.0.commitments.events)
    }

    #[getter]
    fn receipt_commitment<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.0.state_diff.map(|_| to_bytes(py, self.0.commitments.receipts))
    }

    #[getter]
    fn state_diff_commitment<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.0.state_diff.map(|(commitment, _)| to_bytes(py, commitment))
    }

    #[getter]
    fn state_diff_length(&self) -> Option<u64> {
        self.0.state_diff.map(|(_, length)| length)
    }

    #[getter]
    fn transaction_hashes<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        self.0.transaction_hashes.iter().map(|hash| to_bytes(py, *hash)).collect()
    }

    #[getter]
    fn derived(&self) -> Vec<Option<String>> {
        self.0.derived.iter().map(derived_text).collect()
    }
}

fn derived_text(derived: &Derived) -> Option<String> {
    match derived {
        Derived::Nothing => None,
        Derived::Address(address) => Some(format!("{address:#x}")),
        Derived::MessageHash(hash) => Some(hash.to_string()),
    }
}

#[pyfunction]
#[pyo3(signature = (block, state_update, chain_id, *, is_sealed=true))]
fn verify_starknet_block(
    py: Python<'_>,
    block: &[u8],
    state_update: Option<&[u8]>,
    chain_id: &str,
    is_sealed: bool,
) -> PyResult<ProofObject> {
    let chain_id = short_string(chain_id);
    Ok(ProofObject(py.detach(|| {
        if is_sealed {
            block::verify(block, state_update, chain_id)
        } else {
            block::verify_unsealed(block, state_update, chain_id).map(|(proof, _)| proof)
        }
    })?))
}

/// Values of contracts and classes proved by a state root.
#[pyclass(name = "StarknetProvedState", frozen, module = "wsnode._native.starknet")]
struct ProvedStateObject(ProvedState);

#[pymethods]
impl ProvedStateObject {
    #[getter]
    fn class_leaves<'py>(&self, py: Python<'py>) -> Vec<Option<Bound<'py, PyBytes>>> {
        let leaf = |leaf: &Felt| (*leaf != Felt::ZERO).then(|| to_bytes(py, *leaf));
        self.0.class_leaves.iter().map(leaf).collect()
    }

    #[getter]
    fn contracts<'py>(&self, py: Python<'py>) -> Vec<Option<ProvedContractTuple<'py>>> {
        self.0
            .contracts
            .iter()
            .map(|contract| contract.as_ref().map(|found| contract_tuple(py, found)))
            .collect()
    }
}

/// Class hash, nonce, storage root, and the values of the slots.
type ProvedContractTuple<'py> =
    (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>, Vec<Bound<'py, PyBytes>>);

fn contract_tuple<'py>(py: Python<'py>, found: &ProvedContract) -> ProvedContractTuple<'py> {
    let values = found.values.iter().map(|value| to_bytes(py, *value)).collect();
    (to_bytes(py, found.class_hash), to_bytes(py, found.nonce), to_bytes(py, found.storage_root), values)
}

#[pyfunction]
fn verify_starknet_proof(
    py: Python<'_>,
    proof: &[u8],
    block_hash: &[u8],
    state_root: &[u8],
    class_hashes: &[u8],
    contracts: Vec<(PyBackedBytes, PyBackedBytes)>,
) -> PyResult<ProvedStateObject> {
    let asked = contracts_with_keys(&contracts)?;
    let question = ProofQuestion {
        class_hashes: felts(class_hashes)?,
        contracts: asked.into_iter().map(|(address, keys)| ContractQuestion { address, keys }).collect(),
    };
    let block = StateOfBlock { block_hash: one(block_hash)?, state_root: one(state_root)? };
    Ok(ProvedStateObject(py.detach(|| proof::verify(proof, &question, &block))?))
}

#[pyfunction]
fn starknet_diff_commitment<'py>(
    py: Python<'py>,
    storage: &[u8],
    class_hashes: &[u8],
    nonces: &[u8],
    compiled_classes: &[u8],
    deprecated_classes: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let change = change(storage, class_hashes, nonces, compiled_classes)?;
    let deprecated = felts(deprecated_classes)?;
    Ok(to_bytes(py, py.detach(|| commitment::state_diff_commitment(&change, &deprecated))))
}

#[pyfunction]
fn sierra_class_hash<'py>(
    py: Python<'py>,
    version: &str,
    external: &[u8],
    l1_handler: &[u8],
    constructor: &[u8],
    abi: &str,
    program: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let entry_points = entry_points(external, l1_handler, constructor)?;
    let program = felts(program)?;
    Ok(to_bytes(py, py.detach(|| class_hash::sierra(version, &entry_points, abi, &program))))
}

#[pyfunction]
fn cairo0_class_hash<'py>(
    py: Python<'py>,
    external: &[u8],
    l1_handler: &[u8],
    constructor: &[u8],
    builtins: Vec<String>,
    hinted: &[u8],
    bytecode: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let entry_points = entry_points(external, l1_handler, constructor)?;
    let bytecode = felts(bytecode)?;
    Ok(to_bytes(py, py.detach(|| class_hash::cairo0(&entry_points, &builtins, hinted, &bytecode))))
}

register! {
    classes: StarknetTries, ProofObject, ProvedStateObject;
    errors: RefusedBlockError, RefusedProofError;
    functions: verify_starknet_block, verify_starknet_proof, starknet_diff_commitment, sierra_class_hash,
        cairo0_class_hash;
}

fn change(
    storage: &[u8],
    class_hashes: &[u8],
    nonces: &[u8],
    compiled: &[u8],
) -> Result<StateDiff, PackingError> {
    Ok(StateDiff {
        storage: records(storage)?,
        class_hashes: records(class_hashes)?,
        nonces: records(nonces)?,
        compiled_classes: records(compiled)?,
    })
}

/// Return the field element of 32 bytes.
fn one(packed: &[u8]) -> PyResult<Felt> {
    let bytes = packed.try_into().map_err(|_| PyValueError::new_err("a field element has 32 bytes"))?;
    Ok(Felt::from_bytes_be(bytes))
}

fn contracts_with_keys(packed: &[(PyBackedBytes, PyBackedBytes)]) -> PyResult<Vec<(Felt, Vec<Felt>)>> {
    packed.iter().map(|(address, keys)| Ok((one(address)?, felts(keys)?))).collect()
}

fn entry_points(external: &[u8], l1_handler: &[u8], constructor: &[u8]) -> Result<EntryPoints, PackingError> {
    Ok(EntryPoints {
        external: records(external)?,
        l1_handler: records(l1_handler)?,
        constructor: records(constructor)?,
    })
}

fn to_bytes(py: Python<'_>, felt: Felt) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &felt.to_bytes_be())
}
