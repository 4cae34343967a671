//! Nodes in memory, and their parents' links to them: by reference, loaded, or both.

use alloy_rlp::{Decodable, Encodable};
use alloy_trie::nodes::{BranchNodeRef, ExtensionNodeRef, LeafNodeRef, RlpNode, TrieNode};
use alloy_trie::{Nibbles, TrieMask};

/// Number of nibbles in a key, which is a hash.
pub(super) const KEY_NIBBLES: usize = 64;

/// Sixteen children of a branch.
pub(super) type Children = Box<[Child; 16]>;

/// Link of a parent to a child. The reference is kept here, so that a branch is hashed without reading its
/// unchanged children.
#[derive(Debug)]
pub(super) struct Child {
    /// Child's item in the parent's encoding: a hash, a short node itself, or nothing.
    pub(super) reference: RlpNode,
    /// True if `reference` is that of `node`.
    pub(super) hashed: bool,
    /// Node, once loaded or created.
    pub(super) node: Option<Box<Node>>,
}

/// Node, and its relation to the store's row at its path.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    /// True if the store has a row at this node's path, perhaps of an earlier node.
    pub(super) stored: bool,
    /// True if this node or one below differs from the store. Then all nodes above it are unsaved too.
    pub(super) unsaved: bool,
}

/// Content of a node. Keys are the nibbles below the node's own path.
#[derive(Debug)]
pub(super) enum NodeKind {
    Leaf { key: Nibbles, value: Vec<u8> },
    Extension { key: Nibbles, child: Box<Child> },
    Branch(Children),
}

impl Child {
    pub(super) fn empty() -> Self {
        Self::named(RlpNode::default())
    }

    /// Return a link that is known by its reference only.
    pub(super) fn named(reference: RlpNode) -> Self {
        Self { reference, hashed: true, node: None }
    }

    /// Return a link to a new node at a path where the store has no row.
    pub(super) fn made(kind: NodeKind) -> Self {
        let node = Node { kind, stored: false, unsaved: true };
        Self { reference: RlpNode::default(), hashed: false, node: Some(Box::new(node)) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.node.is_none() && self.reference.is_empty()
    }

    /// Mark the node as changed, because it or a node below it was changed.
    pub(super) fn touch(&mut self) {
        self.hashed = false;
        if let Some(node) = &mut self.node {
            node.unsaved = true;
        }
    }
}

impl Node {
    /// Return the node in the RLP `encoded`. `stored` is true if it has a row of its own.
    pub(super) fn decode(mut encoded: &[u8], stored: bool) -> alloy_rlp::Result<Self> {
        let kind = match TrieNode::decode(&mut encoded)? {
            TrieNode::EmptyRoot => return Err(alloy_rlp::Error::Custom("an empty node inside a trie")),
            TrieNode::Leaf(leaf) => NodeKind::Leaf { key: leaf.key, value: leaf.value },
            // A chain of such extensions would never come nearer to the end of a key.
            TrieNode::Extension(extension) if extension.key.is_empty() => {
                return Err(alloy_rlp::Error::Custom("an extension with an empty key"));
            }
            TrieNode::Extension(extension) => {
                NodeKind::Extension { key: extension.key, child: Box::new(Child::named(extension.child)) }
            }
            TrieNode::Branch(branch) => {
                let mut children = no_children();
                for (index, reference) in branch.as_ref().children() {
                    if let Some(reference) = reference {
                        children[usize::from(index)] = Child::named(reference.clone());
                    }
                }
                NodeKind::Branch(children)
            }
        };
        Ok(Self { kind, stored, unsaved: false })
    }

    /// Return whether the node fits at a depth in nibbles: no node lies below the end of a key.
    pub(super) fn fits_at(&self, depth: usize) -> bool {
        match &self.kind {
            NodeKind::Leaf { key, .. } => depth + key.len() <= KEY_NIBBLES,
            NodeKind::Extension { key, .. } => depth + key.len() < KEY_NIBBLES,
            NodeKind::Branch(_) => depth < KEY_NIBBLES,
        }
    }

    /// Append the node's RLP to `out`. Every child must be hashed.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        match &self.kind {
            NodeKind::Leaf { key, value } => LeafNodeRef::new(key, value).encode(out),
            NodeKind::Extension { key, child } => ExtensionNodeRef::new(key, &child.reference).encode(out),
            NodeKind::Branch(children) => encode_branch(children, out),
        }
    }
}

fn encode_branch(children: &[Child; 16], out: &mut Vec<u8>) {
    let mut stack: [RlpNode; 16] = core::array::from_fn(|_| RlpNode::default());
    let (mut mask, mut count) = (0u16, 0);
    for (index, child) in children.iter().enumerate().filter(|(_, child)| !child.reference.is_empty()) {
        stack[count] = child.reference.clone();
        mask |= 1 << index;
        count += 1;
    }
    BranchNodeRef::new(&stack[..count], TrieMask::new(mask)).encode(out);
}

pub(super) fn no_children() -> Children {
    Box::new(core::array::from_fn(|_| Child::empty()))
}
