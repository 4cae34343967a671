//! Inspection of a whole trie in its store. Each node is checked against its hash in the parent.

use alloy_primitives::B256;
use alloy_trie::Nibbles;

use super::node::{Child, NodeKind};
use super::root_child;
use super::store::{NodeStore, TrieError};
use super::walk::read;

/// Item of a trie that is visited.
#[derive(Debug)]
pub enum TrieItem<'n> {
    /// Node with a row of its own.
    Row,
    Leaf {
        path: Nibbles,
        value: &'n [u8],
    },
    /// Node that cannot be read. The nodes below it are skipped.
    Broken(TrieError),
}

/// Visit the whole trie with this root, depth first. Only one path is in memory at a time.
pub fn inspect<E>(
    store: &impl NodeStore,
    owner: Option<&B256>,
    root: B256,
    visit: &mut impl FnMut(TrieItem<'_>) -> Result<(), E>,
) -> Result<(), E> {
    below(store, owner, &root_child(root), Nibbles::default(), visit)
}

fn below<E>(
    store: &impl NodeStore,
    owner: Option<&B256>,
    link: &Child,
    path: Nibbles,
    visit: &mut impl FnMut(TrieItem<'_>) -> Result<(), E>,
) -> Result<(), E> {
    if link.is_empty() {
        return Ok(());
    }
    let node = match read(store, owner, &link.reference, path) {
        Ok(node) => node,
        Err(error) => return visit(TrieItem::Broken(error)),
    };
    if node.stored {
        visit(TrieItem::Row)?;
    }
    match &node.kind {
        NodeKind::Leaf { key, value } => visit(TrieItem::Leaf { path: path.join(key), value }),
        NodeKind::Extension { key, child } => below(store, owner, child, path.join(key), visit),
        NodeKind::Branch(children) => (0u8..).zip(children.iter()).try_for_each(|(index, child)| {
            below(store, owner, child, path.join(&Nibbles::from_nibbles_unchecked([index])), visit)
        }),
    }
}
