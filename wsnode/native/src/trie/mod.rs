//! Merkle Patricia tries of the head, changed in place.
//!
//! Nodes are named by the trie's owner and their path, so that a store has the nodes of one head only. A trie
//! loads the nodes that an operation needs, keeps them in memory, computes a root on demand, and returns its
//! unsaved nodes as rows.

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
pub use store::{NoNodes, NodeStore, TrieError};
pub use tries::{AccountChange, AccountUpdate, StateTries};

use alloy_primitives::{keccak256, B256};
use alloy_trie::nodes::RlpNode;
use alloy_trie::{Nibbles, EMPTY_ROOT_HASH};
use node::{Child, NodeKind};
use walk::Walk;

/// Merkle Patricia trie. Every operation needs the store of the head from which the trie began.
#[derive(Debug)]
pub struct Trie {
    owner: Option<B256>,
    root: Child,
    stale: Vec<Nibbles>,
    held: usize,
}

impl Trie {
    /// Return the trie with this root, without any loaded node.
    pub fn new(owner: Option<B256>, root: B256) -> Self {
        Self { owner, root: root_child(root), stale: Vec::new(), held: 0 }
    }

    pub fn get(&mut self, store: &impl NodeStore, key: &Nibbles) -> Result<Option<&[u8]>, TrieError> {
        let mut walk =
            Walk { store, owner: self.owner.as_ref(), stale: &mut self.stale, held: &mut self.held };
        walk.get(&mut self.root, 0, key)
    }

    pub fn set(&mut self, store: &impl NodeStore, key: &Nibbles, value: &[u8]) -> Result<(), TrieError> {
        let mut walk =
            Walk { store, owner: self.owner.as_ref(), stale: &mut self.stale, held: &mut self.held };
        walk.set(&mut self.root, 0, key, value).map(drop)
    }

    pub fn remove(&mut self, store: &impl NodeStore, key: &Nibbles) -> Result<(), TrieError> {
        let mut walk =
            Walk { store, owner: self.owner.as_ref(), stale: &mut self.stale, held: &mut self.held };
        walk.remove(&mut self.root, 0, key).map(drop)
    }

    /// Return the root hash. Only changed nodes are hashed again.
    pub fn root(&mut self) -> B256 {
        if !self.root.hashed {
            let mut encoded = Vec::with_capacity(600);
            hash(&mut self.root, &mut encoded);
            // `hash` leaves the encoding of the root node in `encoded`. A root is always hashed, even if it
            // is short.
            if !self.root.is_empty() && !self.root.reference.is_hash() {
                self.root.reference = RlpNode::word_rlp(&keccak256(&encoded));
            }
        }
        self.root.reference.as_hash().unwrap_or(EMPTY_ROOT_HASH)
    }

    /// Drop every saved node from memory.
    pub fn unload(&mut self) {
        self.root();
        self.held = unload(&mut self.root);
    }

    /// Return an upper bound of the nodes in memory.
    pub fn held(&self) -> usize {
        self.held
    }
}

/// Drop the saved nodes from `link` down, and return how many stay.
fn unload(link: &mut Child) -> usize {
    let Some(node) = link.node.as_mut() else { return 0 };
    if !node.unsaved {
        link.node = None;
        return 0;
    }
    1 + match &mut node.kind {
        NodeKind::Leaf { .. } => 0,
        NodeKind::Extension { child, .. } => unload(child),
        NodeKind::Branch(children) => children.iter_mut().map(unload).sum(),
    }
}

fn root_child(root: B256) -> Child {
    if root == EMPTY_ROOT_HASH {
        return Child::empty();
    }
    Child::named(RlpNode::word_rlp(&root))
}

/// Compute the reference of `link` again if its node changed. `scratch` is left with the node's encoding.
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
