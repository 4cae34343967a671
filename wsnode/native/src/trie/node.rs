//! Nodes in memory, and how a parent holds a child: by reference, loaded, or both.

use alloy_rlp::{Decodable, Encodable};
use alloy_trie::nodes::{BranchNodeRef, ExtensionNodeRef, LeafNodeRef, RlpNode, TrieNode};
use alloy_trie::{Nibbles, TrieMask};

/// The nibbles of a key, which is a hash.
pub(super) const KEY_NIBBLES: usize = 64;

/// The sixteen children of a branch.
pub(super) type Children = Box<[Child; 16]>;

/// A parent's view of a child; keeping the reference here lets a branch be hashed without
/// touching its unchanged children.
#[derive(Debug)]
pub(super) struct Child {
    /// What stands in the parent's encoding: a hash, a short node itself, or nothing.
    pub(super) reference: RlpNode,
    /// Whether `reference` agrees with `node`.
    pub(super) hashed: bool,
    /// The node, once loaded or made.
    pub(super) node: Option<Box<Node>>,
}

/// A node and how it relates to the store's row at its path.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    /// The store has a row at this node's path, perhaps of an earlier node.
    pub(super) stored: bool,
    /// This node or one below differs from the store; then so do all above.
    pub(super) unsaved: bool,
}

/// What a node holds; keys are the nibbles below the node's own path.
#[derive(Debug)]
pub(super) enum NodeKind {
    Leaf { key: Nibbles, value: Vec<u8> },
    Extension { key: Nibbles, child: Box<Child> },
    Branch(Children),
}

impl Child {
    /// No child.
    pub(super) fn empty() -> Self {
        Self::named(RlpNode::default())
    }

    /// A child known by its reference only.
    pub(super) fn named(reference: RlpNode) -> Self {
        Self { reference, hashed: true, node: None }
    }

    /// A node just made, at a path where the store has no row.
    pub(super) fn made(kind: NodeKind) -> Self {
        let node = Node { kind, stored: false, unsaved: true };
        Self { reference: RlpNode::default(), hashed: false, node: Some(Box::new(node)) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.node.is_none() && self.reference.is_empty()
    }

    /// Note that the node, or one below it, has changed.
    pub(super) fn touch(&mut self) {
        self.hashed = false;
        if let Some(node) = &mut self.node {
            node.unsaved = true;
        }
    }
}

impl Node {
    /// The node that `encoded` holds; `stored` says whether it has a row of its own.
    pub(super) fn decode(mut encoded: &[u8], stored: bool) -> alloy_rlp::Result<Self> {
        let kind = match TrieNode::decode(&mut encoded)? {
            TrieNode::EmptyRoot => return Err(alloy_rlp::Error::Custom("an empty node inside a trie")),
            TrieNode::Leaf(leaf) => NodeKind::Leaf { key: leaf.key, value: leaf.value },
            // A chain of these would never come nearer to a key's end.
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

    /// Whether the node fits at a depth, in nibbles: nothing lies below the end of a key.
    pub(super) fn fits_at(&self, depth: usize) -> bool {
        match &self.kind {
            NodeKind::Leaf { key, .. } => depth + key.len() <= KEY_NIBBLES,
            NodeKind::Extension { key, .. } => depth + key.len() < KEY_NIBBLES,
            NodeKind::Branch(_) => depth < KEY_NIBBLES,
        }
    }

    /// Append the node's RLP to `out`; every child must be hashed.
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

/// Sixteen empty places.
pub(super) fn no_children() -> Children {
    Box::new(core::array::from_fn(|_| Child::empty()))
}
