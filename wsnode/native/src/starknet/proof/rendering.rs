//! JSON of trie nodes as a result of `starknet_getStorageProof`.

use serde::Serialize;
use starknet_types_core::felt::Felt;

use crate::starknet::state::{Paths, StatePaths};
use crate::starknet::trie::ProofNode;

#[derive(Serialize)]
struct StorageProof {
    classes_proof: Vec<NamedNode>,
    contracts_proof: ContractsProof,
    contracts_storage_proofs: Vec<Vec<NamedNode>>,
    global_roots: GlobalRoots,
}

#[derive(Serialize)]
struct ContractsProof {
    nodes: Vec<NamedNode>,
    contract_leaves_data: Vec<Option<ContractLeaf>>,
}

#[derive(Serialize)]
struct ContractLeaf {
    nonce: String,
    class_hash: String,
    storage_root: String,
}

#[derive(Serialize)]
struct GlobalRoots {
    contracts_tree_root: String,
    classes_tree_root: String,
    block_hash: String,
}

#[derive(Serialize)]
struct NamedNode {
    node_hash: String,
    node: Node,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Node {
    Binary { left: String, right: String },
    Edge { path: String, length: u64, child: String },
}

/// Return the JSON text of a storage proof; `block_hash` is the block with this state.
///
/// The leaf of a contract absent from the state is null, as in answers of pathfinder and juno.
pub fn render(paths: &StatePaths, block_hash: Felt) -> Vec<u8> {
    let leaf = |[class_hash, nonce, storage_root]: &[Felt; 3]| ContractLeaf {
        nonce: hex(nonce),
        class_hash: hex(class_hash),
        storage_root: hex(storage_root),
    };
    let [contracts, classes] = &paths.roots;
    let proof = StorageProof {
        classes_proof: named(&paths.classes),
        contracts_proof: ContractsProof {
            nodes: named(&paths.contracts),
            contract_leaves_data: paths.leaves.iter().map(|told| told.as_ref().map(leaf)).collect(),
        },
        contracts_storage_proofs: paths.storage.iter().map(named).collect(),
        global_roots: GlobalRoots {
            contracts_tree_root: hex(contracts),
            classes_tree_root: hex(classes),
            block_hash: hex(&block_hash),
        },
    };
    serde_json::to_vec(&proof).expect("strings and numbers are JSON")
}

fn named(nodes: &Paths) -> Vec<NamedNode> {
    nodes.iter().map(|(hash, node)| NamedNode { node_hash: hex(hash), node: shown(node) }).collect()
}

fn shown(node: &ProofNode) -> Node {
    match node {
        ProofNode::Binary { left, right } => Node::Binary { left: hex(left), right: hex(right) },
        ProofNode::Edge { path, length, child } => {
            Node::Edge { path: hex(path), length: *length, child: hex(child) }
        }
    }
}

fn hex(felt: &Felt) -> String {
    format!("{felt:#x}")
}
