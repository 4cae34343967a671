//! Decoder of results of `starknet_getStorageProof` from JSON. It checks their form only; `verification` their values.

use serde::de::{Deserializer, Error};
use serde::Deserialize;
use starknet_types_core::felt::Felt;

use super::error::StorageProofError;
use crate::starknet::json::{felt, maybe_felt, path_of};
use crate::starknet::trie::ProofNode;

/// Longest result, in bytes; one of a hundred paths in tries with millions of leaves has about a megabyte.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

#[derive(Deserialize)]
pub struct UnverifiedStorageProof {
    pub classes_proof: Vec<NamedNode>,
    pub contracts_proof: ContractsProof,
    pub contracts_storage_proofs: Vec<Vec<NamedNode>>,
    pub global_roots: GlobalRoots,
}

#[derive(Deserialize)]
pub struct ContractsProof {
    pub nodes: Vec<NamedNode>,
    pub contract_leaves_data: Vec<Option<ContractLeaf>>,
}

/// Values hashed into the leaf of a contract, as sent by the node.
#[derive(Deserialize)]
pub struct ContractLeaf {
    #[serde(deserialize_with = "felt")]
    pub nonce: Felt,
    #[serde(deserialize_with = "felt")]
    pub class_hash: Felt,
    /// Storage root, not trusted: juno sends the root of the contract trie here.
    #[serde(deserialize_with = "maybe_felt", default)]
    pub storage_root: Option<Felt>,
}

#[derive(Deserialize)]
pub struct GlobalRoots {
    #[serde(deserialize_with = "felt")]
    pub contracts_tree_root: Felt,
    #[serde(deserialize_with = "felt")]
    pub classes_tree_root: Felt,
    #[serde(deserialize_with = "felt")]
    pub block_hash: Felt,
}

#[derive(Deserialize)]
pub struct NamedNode {
    #[serde(deserialize_with = "felt")]
    pub node_hash: Felt,
    #[serde(deserialize_with = "node")]
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

impl UnverifiedStorageProof {
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
