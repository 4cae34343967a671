//! Nodes that prove a value or its absence.

use super::node::{Child, Node, NodeKind};
use super::store::{NodeStore, TrieError};
use super::walk::Walk;
use super::Trie;
use alloy_primitives::Bytes;
use alloy_trie::Nibbles;

impl Trie {
    /// Return the RLP of the nodes from the root towards `key`. Short nodes are part of their parents.
    pub fn proof(&mut self, store: &impl NodeStore, key: &Nibbles) -> Result<Vec<Bytes>, TrieError> {
        self.root();
        let mut walk =
            Walk { store, owner: self.owner.as_ref(), stale: &mut self.stale, held: &mut self.held };
        let mut nodes = Vec::new();
        let mut next = Some((&mut self.root, 0));
        while let Some((link, depth)) = next.take().filter(|(link, _)| !link.is_empty()) {
            let has_row = link.reference.is_hash();
            let node = walk.load(link, || key.slice(..depth))?;
            if has_row {
                nodes.push(encoded(node));
            }
            next = step(node, depth, key);
        }
        Ok(nodes)
    }
}

fn step<'c>(node: &'c mut Node, depth: usize, key: &Nibbles) -> Option<(&'c mut Child, usize)> {
    match &mut node.kind {
        NodeKind::Leaf { .. } => None,
        NodeKind::Extension { key: own, child } => {
            key.slice(depth..).starts_with(own).then_some((&mut **child, depth + own.len()))
        }
        NodeKind::Branch(children) => Some((&mut children[usize::from(key.get_unchecked(depth))], depth + 1)),
    }
}

fn encoded(node: &Node) -> Bytes {
    let mut out = Vec::with_capacity(128);
    node.encode(&mut out);
    out.into()
}
