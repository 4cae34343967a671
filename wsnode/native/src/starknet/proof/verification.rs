//! Verification of a storage proof, from the state root of a block down to the values.

use std::collections::hash_map::Entry;
use std::collections::HashMap;

use starknet_types_core::felt::Felt;
use starknet_types_core::hash::{Pedersen, Poseidon};

use super::codec::{ContractLeaf, GlobalRoots, NamedNode, StorageProof};
use super::error::{check_count, check_value, StorageProofError};
use super::nodes::NodeSet;
use crate::starknet::state::{contract_leaf, joined_root};
use crate::starknet::trie::HEIGHT;

/// Maximum number of keys of one proof, contracts and classes included, as in pathfinder.
///
/// The nodes of a hundred longest paths take half a second to hash.
const MAX_KEYS: usize = 100;

/// Keys of a request for a proof; the request's `contract_addresses` has the addresses in the order of `contracts`.
pub struct ProofQuestion {
    pub class_hashes: Vec<Felt>,
    pub contracts: Vec<ContractQuestion>,
}

pub struct ContractQuestion {
    pub address: Felt,
    pub keys: Vec<Felt>,
}

/// Hash and state root of the proof's block, both already verified.
pub struct StateOfBlock {
    pub block_hash: Felt,
    pub state_root: Felt,
}

/// Values proved by a state root, in the order of the question.
#[derive(Debug, PartialEq, Eq)]
pub struct ProvedState {
    /// Leaf of each class; 0 if it is not declared.
    pub class_leaves: Vec<Felt>,
    /// Values of each contract; None if it is not in the state.
    pub contracts: Vec<Option<ProvedContract>>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct ProvedContract {
    pub class_hash: Felt,
    pub nonce: Felt,
    pub storage_root: Felt,
    /// Value of each slot; 0 if it is not in the trie.
    pub values: Vec<Felt>,
}

impl ProofQuestion {
    fn check(&self) -> Result<(), StorageProofError> {
        let asked = self.keys().count();
        if asked > MAX_KEYS {
            return Err(StorageProofError::TooManyKeys { asked, most: MAX_KEYS });
        }
        match self.keys().find(|key| key.bits() > HEIGHT) {
            Some(key) => Err(StorageProofError::KeyOutOfRange { key: *key }),
            None => Ok(()),
        }
    }

    fn keys(&self) -> impl Iterator<Item = &Felt> {
        let of_contracts =
            self.contracts.iter().flat_map(|asked| [&asked.address].into_iter().chain(&asked.keys));
        self.class_hashes.iter().chain(of_contracts)
    }
}

/// Verify a result of `starknet_getStorageProof` and return the proved values.
pub fn verify(
    proof: &[u8],
    question: &ProofQuestion,
    block: &StateOfBlock,
) -> Result<ProvedState, StorageProofError> {
    question.check()?;
    let proof = StorageProof::read(proof)?;
    check_counts(&proof, question)?;
    check_roots(&proof.global_roots, block)?;
    let roots = proof.global_roots;
    let mut classes = NodeSet::<Poseidon>::new("classes_proof", proof.classes_proof);
    let class_leaves = question.class_hashes.iter().map(|key| classes.leaf(roots.classes_tree_root, key));
    let class_leaves = class_leaves.collect::<Result<_, _>>()?;
    let mut storage = StorageTries::new(proof.contracts_storage_proofs)?;
    let mut nodes = NodeSet::<Pedersen>::new("contracts_proof.nodes", proof.contracts_proof.nodes);
    let told = proof.contracts_proof.contract_leaves_data;
    let contracts = question.contracts.iter().zip(told).enumerate().map(|(index, (asked, told))| {
        let leaf = nodes.leaf(roots.contracts_tree_root, &asked.address)?;
        contract(index, asked, leaf, told, &mut storage)
    });
    Ok(ProvedState { class_leaves, contracts: contracts.collect::<Result<_, _>>()? })
}

fn check_counts(proof: &StorageProof, question: &ProofQuestion) -> Result<(), StorageProofError> {
    let (classes, contracts) = (question.class_hashes.len(), question.contracts.len());
    let told = proof.contracts_proof.contract_leaves_data.len();
    if told != contracts {
        let reason = format!("{told} items, and {contracts} contracts");
        return Err(StorageProofError::malformed("contracts_proof.contract_leaves_data", reason));
    }
    let with_keys = question.contracts.iter().filter(|asked| !asked.keys.is_empty()).count();
    let keys = question.contracts.iter().map(|asked| asked.keys.len()).sum::<usize>();
    let slots = proof.contracts_storage_proofs.iter().map(Vec::len).sum();
    check_count("classes_proof", proof.classes_proof.len(), HEIGHT * classes)?;
    check_count("contracts_proof.nodes", proof.contracts_proof.nodes.len(), HEIGHT * contracts)?;
    check_count("contracts_storage_proofs", proof.contracts_storage_proofs.len(), with_keys)?;
    check_count("contracts_storage_proofs[]", slots, HEIGHT * keys)
}

/// Refuse a proof of another block, or whose two roots do not give the state root.
///
/// Before version 0.14 an empty class trie leaves the root of the contract trie as the state root. Either form is
/// accepted for any version: a value with both meanings would be a collision of the hash functions.
fn check_roots(told: &GlobalRoots, block: &StateOfBlock) -> Result<(), StorageProofError> {
    check_value(|| "global_roots.block_hash".into(), block.block_hash, told.block_hash)?;
    let (contracts, classes) = (told.contracts_tree_root, told.classes_tree_root);
    if joined_root(contracts, classes, false) == block.state_root {
        return Ok(());
    }
    check_value(|| "global_roots".into(), block.state_root, joined_root(contracts, classes, true))
}

fn contract(
    index: usize,
    asked: &ContractQuestion,
    leaf: Felt,
    told: Option<ContractLeaf>,
    storage: &mut StorageTries,
) -> Result<Option<ProvedContract>, StorageProofError> {
    let member = || format!("contracts_proof.contract_leaves_data[{index}]");
    let Some(told) = told else {
        return check_value(member, leaf, Felt::ZERO).map(|()| None);
    };
    if leaf == Felt::ZERO {
        // Some nodes send zeros instead of null for an absent contract.
        check_value(|| format!("{}.class_hash", member()), Felt::ZERO, told.class_hash)?;
        check_value(|| format!("{}.nonce", member()), Felt::ZERO, told.nonce)?;
        return Ok(None);
    }
    let storage_root = storage.root_of(index, &told, leaf).ok_or_else(|| {
        StorageProofError::UnknownStorageRoot { member: member(), leaf, address: asked.address }
    })?;
    let values = asked.keys.iter().map(|key| storage.value(storage_root, key)).collect::<Result<_, _>>()?;
    Ok(Some(ProvedContract { class_hash: told.class_hash, nonce: told.nonce, storage_root, values }))
}

/// Storage tries of a proof by their roots; `root_of` finds the root of a contract.
struct StorageTries {
    tries: HashMap<Felt, NodeSet<Pedersen>>,
    /// Roots of `contracts_storage_proofs` in its order; 0 for an empty list.
    roots: Vec<Felt>,
}

impl StorageTries {
    fn new(proofs: Vec<Vec<NamedNode>>) -> Result<Self, StorageProofError> {
        let mut found = Self { tries: HashMap::new(), roots: Vec::new() };
        for (index, nodes) in proofs.into_iter().enumerate() {
            let nodes = NodeSet::new(format!("contracts_storage_proofs[{index}]"), nodes);
            let root = nodes.root()?.unwrap_or(Felt::ZERO);
            found.roots.push(root);
            // Contracts with equal storage have equal tries, so their nodes are merged.
            match found.tries.entry(root) {
                Entry::Occupied(mut entry) => entry.get_mut().extend(nodes),
                Entry::Vacant(entry) => drop(entry.insert(nodes)),
            }
        }
        Ok(found)
    }

    /// Return the storage root whose hash with the sent class hash and nonce is the contract's leaf; none if there is
    /// no such root.
    ///
    /// Nodes order storage proofs in different ways, so all roots are tried: first the sent `storage_root`, the root of
    /// the list at the contract's index, and 0, then the roots of all lists.
    fn root_of(&self, index: usize, told: &ContractLeaf, leaf: Felt) -> Option<Felt> {
        let likely = [told.storage_root, self.roots.get(index).copied(), Some(Felt::ZERO)];
        likely
            .into_iter()
            .flatten()
            .chain(self.roots.iter().copied())
            .find(|root| contract_leaf(told.class_hash, *root, told.nonce) == leaf)
    }

    fn value(&mut self, root: Felt, key: &Felt) -> Result<Felt, StorageProofError> {
        if root == Felt::ZERO {
            return Ok(Felt::ZERO);
        }
        let missing =
            || StorageProofError::MissingNode { member: "contracts_storage_proofs".into(), hash: root };
        self.tries.get_mut(&root).ok_or_else(missing)?.leaf(root, key)
    }
}
