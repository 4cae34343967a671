//! Rows that bring a store to a trie's state: new and changed nodes, and paths to delete.

use super::node::{Child, NodeKind};
use super::Trie;
use alloy_primitives::B256;
use alloy_trie::Nibbles;

/// Rows of one trie. Deletions come first, because a path may be left and used again.
#[derive(Debug, Default)]
pub struct NodeRows {
    /// Hashed address of the account whose storage it is; None for the trie of accounts.
    pub owner: Option<B256>,
    /// Paths that no longer have a node of their own.
    pub deleted: Vec<Nibbles>,
    /// Paths and RLP of new and changed nodes.
    pub written: Vec<(Nibbles, Vec<u8>)>,
}

impl Trie {
    /// Return the rows that bring the store to this trie's state; empty if there is no change.
    pub fn rows(&mut self) -> NodeRows {
        self.root();
        let mut rows = NodeRows { owner: self.owner, deleted: self.stale.clone(), ..NodeRows::default() };
        collect(&self.root, Nibbles::default(), &mut rows);
        rows
    }

    /// Mark all nodes as saved after their rows were written.
    pub fn saved(&mut self) {
        self.stale.clear();
        mark(&mut self.root);
    }
}

fn collect(link: &Child, path: Nibbles, rows: &mut NodeRows) {
    let Some(node) = link.node.as_ref().filter(|node| node.unsaved) else {
        return;
    };
    if link.reference.is_hash() {
        let mut encoded = Vec::with_capacity(128);
        node.encode(&mut encoded);
        rows.written.push((path, encoded));
    } else if node.stored {
        // The node is now short enough to be embedded in its parent, so its own row is deleted.
        rows.deleted.push(path);
    }
    match &node.kind {
        NodeKind::Leaf { .. } => {}
        NodeKind::Extension { key, child } => collect(child, path.join(key), rows),
        NodeKind::Branch(children) => {
            for (index, child) in (0u8..).zip(children.iter()) {
                collect(child, path.join(&Nibbles::from_nibbles_unchecked([index])), rows);
            }
        }
    }
}

fn mark(link: &mut Child) {
    let Some(node) = link.node.as_mut().filter(|node| node.unsaved) else {
        return;
    };
    node.unsaved = false;
    node.stored = link.reference.is_hash();
    match &mut node.kind {
        NodeKind::Leaf { .. } => {}
        NodeKind::Extension { child, .. } => mark(child),
        NodeKind::Branch(children) => children.iter_mut().for_each(mark),
    }
}
