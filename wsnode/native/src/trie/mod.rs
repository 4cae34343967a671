//! Merkle Patricia tries of the head, changed in place.
//!
//! Nodes are named by the trie's owner and their path, so the store holds those of one head only. A trie
//! loads what an operation needs, keeps it, computes a root on demand and gives up its unsaved nodes as rows.

mod inspection;
mod node;
mod proof;
mod rows;
mod store;
mod tries;
mod walk;

#[cfg(test)]
pub(crate) mod tests;

pub use inspection::{inspect, TrieItem};
pub use rows::NodeRows;
pub use store::{NoNodes, NodeRef, NodeStore, TrieError};
pub use tries::{AccountChange, AccountUpdate, StateTries};

use alloy_primitives::{keccak256, B256};
use alloy_trie::nodes::RlpNode;
use alloy_trie::{Nibbles, EMPTY_ROOT_HASH};
use node::{Child, NodeKind};
use walk::Walk;

/// One trie; every operation is given the store of the head that the trie began from.
#[derive(Debug)]
pub struct Trie {
    owner: Option<B256>,
    root: Child,
    stale: Vec<Nibbles>,
    held: usize,
}

impl Trie {
    /// The trie with this root, nothing of it loaded.
    pub fn new(owner: Option<B256>, root: B256) -> Self {
        Self { owner, root: root_child(root), stale: Vec::new(), held: 0 }
    }

    /// The value at `key`.
    pub fn get(&mut self, store: &impl NodeStore, key: &Nibbles) -> Result<Option<&[u8]>, TrieError> {
        let mut walk =
            Walk { store, owner: self.owner.as_ref(), stale: &mut self.stale, held: &mut self.held };
        walk.get(&mut self.root, 0, key)
    }

    /// Put `value` at `key`.
    pub fn set(&mut self, store: &impl NodeStore, key: &Nibbles, value: &[u8]) -> Result<(), TrieError> {
        let mut walk =
            Walk { store, owner: self.owner.as_ref(), stale: &mut self.stale, held: &mut self.held };
        walk.set(&mut self.root, 0, key, value).map(drop)
    }

    /// Remove `key`, if it is there.
    pub fn remove(&mut self, store: &impl NodeStore, key: &Nibbles) -> Result<(), TrieError> {
        let mut walk =
            Walk { store, owner: self.owner.as_ref(), stale: &mut self.stale, held: &mut self.held };
        walk.remove(&mut self.root, 0, key).map(drop)
    }

    /// The root hash, computing again only what changed.
    pub fn root(&mut self) -> B256 {
        if !self.root.hashed {
            let mut encoded = Vec::with_capacity(600);
            hash(&mut self.root, &mut encoded);
            // `encoded` ends with the root node; a short one is hashed all the same.
            if !self.root.is_empty() && !self.root.reference.is_hash() {
                self.root.reference = RlpNode::word_rlp(&keccak256(&encoded));
            }
        }
        self.root.reference.as_hash().unwrap_or(EMPTY_ROOT_HASH)
    }

    /// Drop every node from memory; nothing may be unsaved.
    pub fn unload(&mut self) {
        self.root = root_child(self.root());
        self.held = 0;
    }

    /// Nodes held in memory, at most.
    pub fn held(&self) -> usize {
        self.held
    }
}

fn root_child(root: B256) -> Child {
    if root == EMPTY_ROOT_HASH {
        return Child::empty();
    }
    Child::named(RlpNode::word_rlp(&root))
}

/// Bring the reference of `link` up to date; `scratch` is left with its encoding.
fn hash(link: &mut Child, scratch: &mut Vec<u8>) {
    let Some(node) = link.node.as_mut().filter(|_| !link.hashed) else {
        return;
    };
    match &mut node.kind {
        NodeKind::Leaf { .. } => {}
        NodeKind::Extension { child, .. } => hash(child, scratch),
        NodeKind::Branch(children) => children.iter_mut().for_each(|child| hash(child, scratch)),
    }
    scratch.clear();
    node.encode(scratch);
    link.reference = RlpNode::from_rlp(scratch);
    link.hashed = true;
}
