//! Nodes of one trie out of a proof, and the leaves that they prove.

use std::collections::{HashMap, HashSet};
use std::marker::PhantomData;

use starknet_types_core::felt::Felt;
use starknet_types_core::hash::StarkHash;

use super::codec::NamedNode;
use super::error::{check_value, StorageProofError};
use crate::starknet::trie::{path_felt, ProofNode, HEIGHT};

/// Nodes of one trie by their claimed hash; a node's hash is verified when a path first reaches it.
pub struct NodeSet<H> {
    member: String,
    nodes: HashMap<Felt, ProofNode>,
    verified: HashSet<Felt>,
    hasher: PhantomData<H>,
}

impl<H: StarkHash> NodeSet<H> {
    /// Return the set of these nodes; `member` names their list in the proof, for the texts of errors.
    pub fn new(member: impl ToString, nodes: Vec<NamedNode>) -> Self {
        Self {
            member: member.to_string(),
            nodes: nodes.into_iter().map(|named| (named.node_hash, named.node)).collect(),
            verified: HashSet::new(),
            hasher: PhantomData,
        }
    }

    /// Add the nodes of another list of the same trie.
    pub fn extend(&mut self, other: Self) {
        self.nodes.extend(other.nodes);
    }

    /// Return the hash of the only node without a parent; None without nodes; refuse nodes of several tries.
    pub fn root(&self) -> Result<Option<Felt>, StorageProofError> {
        let children = self.nodes.values().flat_map(ProofNode::children).collect::<HashSet<_>>();
        let mut roots = self.nodes.keys().filter(|hash| !children.contains(hash));
        let first = roots.next().copied();
        let others = roots.count();
        // If all nodes are children, their claimed hashes form a cycle. No true hashes do, so such nodes
        // would fail verification.
        if others > 0 || (first.is_none() && !self.nodes.is_empty()) {
            let roots = others + usize::from(first.is_some());
            return Err(StorageProofError::SeveralRoots { member: self.member.clone(), roots });
        }
        Ok(first)
    }

    /// Return the leaf at `key` in the trie with this root, or 0 if the nodes prove its absence.
    pub fn leaf(&mut self, root: Felt, key: &Felt) -> Result<Felt, StorageProofError> {
        let bits = key.to_bytes_be();
        let (mut hash, mut depth) = (root, 0);
        if root == Felt::ZERO {
            return Ok(Felt::ZERO);
        }
        while depth < HEIGHT {
            match self.verified_node(hash)? {
                ProofNode::Binary { left, right } => {
                    hash = if path_felt(&bits, depth, 1) == Felt::ZERO { left } else { right };
                    depth += 1;
                }
                ProofNode::Edge { path, length, child } => {
                    let length = self.edge_length(hash, length, path, HEIGHT - depth)?;
                    if path_felt(&bits, depth, length) != path {
                        return Ok(Felt::ZERO);
                    }
                    (hash, depth) = (child, depth + length);
                }
            }
        }
        Ok(hash)
    }

    fn verified_node(&mut self, hash: Felt) -> Result<ProofNode, StorageProofError> {
        let node = *self
            .nodes
            .get(&hash)
            .ok_or_else(|| StorageProofError::MissingNode { member: self.member.clone(), hash })?;
        if self.verified.insert(hash) {
            check_value(|| format!("{} node_hash", self.member), node.hash::<H>(), hash)?;
        }
        Ok(node)
    }

    fn edge_length(
        &self,
        hash: Felt,
        length: u64,
        path: Felt,
        height: usize,
    ) -> Result<usize, StorageProofError> {
        let is_right = (1..=height as u64).contains(&length) && path.bits() as u64 <= length;
        if !is_right {
            return Err(StorageProofError::WrongEdge { member: self.member.clone(), hash, length, height });
        }
        Ok(length as usize)
    }
}
