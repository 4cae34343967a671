//! Results of `starknet_getStorageProof` from and to JSON. Of those read, only the form is checked here, and the
//! values by `verification`.

use serde::de::{Deserializer, Error};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use starknet_types_core::felt::Felt;

use super::error::StorageProofError;
use crate::starknet::json::{felt, maybe_felt, path_of};
use crate::starknet::state::{Paths, StatePaths};
use crate::starknet::trie::ProofNode;

/// Longest result, in bytes; one of a hundred paths in tries with millions of leaves has about a megabyte.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

#[derive(Deserialize, Serialize)]
pub struct StorageProof {
    pub classes_proof: Vec<NamedNode>,
    pub contracts_proof: ContractsProof,
    pub contracts_storage_proofs: Vec<Vec<NamedNode>>,
    pub global_roots: GlobalRoots,
}

#[derive(Deserialize, Serialize)]
pub struct ContractsProof {
    pub nodes: Vec<NamedNode>,
    pub contract_leaves_data: Vec<Option<ContractLeaf>>,
}

/// Values hashed into the leaf of a contract.
#[derive(Deserialize, Serialize)]
pub struct ContractLeaf {
    #[serde(deserialize_with = "felt", serialize_with = "write_felt")]
    pub nonce: Felt,
    #[serde(deserialize_with = "felt", serialize_with = "write_felt")]
    pub class_hash: Felt,
    /// Storage root, not trusted when read: juno sends the root of the contract trie here.
    #[serde(deserialize_with = "maybe_felt", serialize_with = "write_maybe_felt", default)]
    pub storage_root: Option<Felt>,
}

#[derive(Deserialize, Serialize)]
pub struct GlobalRoots {
    #[serde(deserialize_with = "felt", serialize_with = "write_felt")]
    pub contracts_tree_root: Felt,
    #[serde(deserialize_with = "felt", serialize_with = "write_felt")]
    pub classes_tree_root: Felt,
    #[serde(deserialize_with = "felt", serialize_with = "write_felt")]
    pub block_hash: Felt,
}

#[derive(Deserialize, Serialize)]
pub struct NamedNode {
    #[serde(deserialize_with = "felt", serialize_with = "write_felt")]
    pub node_hash: Felt,
    #[serde(deserialize_with = "node", serialize_with = "write_node")]
    pub node: ProofNode,
}

#[derive(Deserialize)]
struct NodeMembers {
    #[serde(deserialize_with = "maybe_felt", default)]
    left: Option<Felt>,
    #[serde(deserialize_with = "maybe_felt", default)]
    right: Option<Felt>,
    #[serde(deserialize_with = "maybe_felt", default)]
    path: Option<Felt>,
    length: Option<u64>,
    #[serde(deserialize_with = "maybe_felt", default)]
    child: Option<Felt>,
}

impl StorageProof {
    /// Return the proof of a JSON text of at most 16 MiB.
    pub fn read(text: &[u8]) -> Result<Self, StorageProofError> {
        if text.len() > MAX_BYTES {
            return Err(StorageProofError::TooManyBytes { bytes: text.len(), most: MAX_BYTES });
        }
        serde_json::from_slice(text).map_err(|error| {
            let path = path_of(&error, text);
            StorageProofError::malformed(if path.is_empty() { "proof".to_owned() } else { path }, error)
        })
    }
}

fn node<'de, D: Deserializer<'de>>(source: D) -> Result<ProofNode, D::Error> {
    match NodeMembers::deserialize(source)? {
        NodeMembers { left: Some(left), right: Some(right), path: None, length: None, child: None } => {
            Ok(ProofNode::Binary { left, right })
        }
        NodeMembers {
            left: None,
            right: None,
            path: Some(path),
            length: Some(length),
            child: Some(child),
        } => Ok(ProofNode::Edge { path, length, child }),
        _ => Err(D::Error::custom("a node has left and right, or path, length and child")),
    }
}

/// Return the JSON text of a storage proof; `block_hash` is the block with this state.
///
/// The leaf of a contract absent from the state is null, as in answers of pathfinder and juno.
pub fn render(paths: &StatePaths, block_hash: Felt) -> Vec<u8> {
    let leaf = |[class_hash, nonce, storage_root]: [Felt; 3]| ContractLeaf {
        nonce,
        class_hash,
        storage_root: Some(storage_root),
    };
    let [contracts_tree_root, classes_tree_root] = paths.roots;
    let proof = StorageProof {
        classes_proof: named(&paths.classes),
        contracts_proof: ContractsProof {
            nodes: named(&paths.contracts),
            contract_leaves_data: paths.leaves.iter().map(|values| values.map(leaf)).collect(),
        },
        contracts_storage_proofs: paths.storage.iter().map(named).collect(),
        global_roots: GlobalRoots { contracts_tree_root, classes_tree_root, block_hash },
    };
    serde_json::to_vec(&proof).expect("strings and numbers are JSON")
}

fn named(nodes: &Paths) -> Vec<NamedNode> {
    nodes.iter().map(|(hash, node)| NamedNode { node_hash: *hash, node: *node }).collect()
}

fn hex(felt: &Felt) -> String {
    format!("{felt:#x}")
}

fn write_felt<S: Serializer>(felt: &Felt, target: S) -> Result<S::Ok, S::Error> {
    target.serialize_str(&hex(felt))
}

fn write_maybe_felt<S: Serializer>(felt: &Option<Felt>, target: S) -> Result<S::Ok, S::Error> {
    felt.as_ref().map(hex).serialize(target)
}

fn write_node<S: Serializer>(node: &ProofNode, target: S) -> Result<S::Ok, S::Error> {
    let mut members = target.serialize_map(None)?;
    match node {
        ProofNode::Binary { left, right } => {
            members.serialize_entry("left", &hex(left))?;
            members.serialize_entry("right", &hex(right))?;
        }
        ProofNode::Edge { path, length, child } => {
            members.serialize_entry("path", &hex(path))?;
            members.serialize_entry("length", length)?;
            members.serialize_entry("child", &hex(child))?;
        }
    }
    members.end()
}
