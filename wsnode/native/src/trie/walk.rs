//! Reads and changes of a trie along one key.

use super::node::{no_children, Child, Children, Node, NodeKind};
use super::store::{NodeRef, NodeStore, TrieError};
use alloy_primitives::{keccak256, B256};
use alloy_trie::nodes::RlpNode;
use alloy_trie::Nibbles;

/// Context of one operation: the store of the nodes, and the records of the operation.
pub(super) struct Walk<'a, S> {
    pub(super) store: &'a S,
    pub(super) owner: Option<&'a B256>,
    /// Paths whose rows no longer belong to a node.
    pub(super) stale: &'a mut Vec<Nibbles>,
    /// Number of nodes loaded or created, as a measure of memory.
    pub(super) held: &'a mut usize,
}

impl<S: NodeStore> Walk<'_, S> {
    pub(super) fn get<'c>(
        &mut self,
        link: &'c mut Child,
        depth: usize,
        key: &Nibbles,
    ) -> Result<Option<&'c [u8]>, TrieError> {
        if link.is_empty() {
            return Ok(None);
        }
        match &mut self.load(link, || key.slice(..depth))?.kind {
            NodeKind::Leaf { key: own, value } => Ok((*own == key.slice(depth..)).then_some(value)),
            NodeKind::Extension { key: own, child } => {
                if !key.slice(depth..).starts_with(own) {
                    return Ok(None);
                }
                self.get(child, depth + own.len(), key)
            }
            NodeKind::Branch(children) => self.get(child_of(children, key, depth), depth + 1, key),
        }
    }

    /// Set the value at `key`, and return whether anything changed.
    pub(super) fn set(
        &mut self,
        link: &mut Child,
        depth: usize,
        key: &Nibbles,
        value: &[u8],
    ) -> Result<bool, TrieError> {
        if link.is_empty() {
            *link = self.leaf(key.slice(depth..), value.to_vec());
            return Ok(true);
        }
        let node = self.load(link, || key.slice(..depth))?;
        let changed = match &mut node.kind {
            NodeKind::Leaf { .. } => self.set_at_leaf(node, &key.slice(depth..), value),
            NodeKind::Extension { key: own, child } => {
                let rest = key.slice(depth..);
                if rest.starts_with(own) {
                    self.set(child, depth + own.len(), key, value)?
                } else {
                    self.split_extension(node, &rest, value);
                    true
                }
            }
            NodeKind::Branch(children) => self.set(child_of(children, key, depth), depth + 1, key, value)?,
        };
        if changed {
            link.touch();
        }
        Ok(changed)
    }

    fn set_at_leaf(&mut self, node: &mut Node, rest: &Nibbles, value: &[u8]) -> bool {
        let NodeKind::Leaf { key, value: old } = &mut node.kind else {
            return false;
        };
        if key != rest {
            let (key, old) = (*key, std::mem::take(old));
            let common = key.common_prefix_length(rest);
            let mut children = no_children();
            children[nibble(&key, common)] = self.leaf(key.slice(common + 1..), old);
            children[nibble(rest, common)] = self.leaf(rest.slice(common + 1..), value.to_vec());
            node.kind = self.branch_below(key.slice(..common), children);
            return true;
        }
        let changed = old != value;
        if changed {
            old.clear();
            old.extend_from_slice(value);
        }
        changed
    }

    fn split_extension(&mut self, node: &mut Node, rest: &Nibbles, value: &[u8]) {
        let NodeKind::Extension { key, child } = &mut node.kind else {
            return;
        };
        let (key, child) = (*key, std::mem::replace(&mut **child, Child::empty()));
        let common = key.common_prefix_length(rest);
        let mut children = no_children();
        children[nibble(rest, common)] = self.leaf(rest.slice(common + 1..), value.to_vec());
        // The extension's child is a branch and keeps its path, so it also keeps its row.
        children[nibble(&key, common)] = if common + 1 == key.len() {
            child
        } else {
            *self.held += 1;
            Child::made(NodeKind::Extension { key: key.slice(common + 1..), child: Box::new(child) })
        };
        node.kind = self.branch_below(key.slice(..common), children);
    }

    /// Remove `key`, and return whether it was present.
    pub(super) fn remove(
        &mut self,
        link: &mut Child,
        depth: usize,
        key: &Nibbles,
    ) -> Result<bool, TrieError> {
        if link.is_empty() {
            return Ok(false);
        }
        let node = self.load(link, || key.slice(..depth))?;
        match &mut node.kind {
            NodeKind::Leaf { key: own, .. } => {
                if *own != key.slice(depth..) {
                    return Ok(false);
                }
                if node.stored {
                    self.stale.push(key.slice(..depth));
                }
                *link = Child::empty();
                return Ok(true);
            }
            NodeKind::Extension { key: own, child } => {
                let (own, below) = (*own, depth + own.len());
                if !key.slice(depth..).starts_with(&own) || !self.remove(child, below, key)? {
                    return Ok(false);
                }
                if child.is_empty() {
                    // The child was a leaf that `join` had taken for a branch.
                    if node.stored {
                        self.stale.push(key.slice(..depth));
                    }
                    *link = Child::empty();
                    return Ok(true);
                }
                let child = std::mem::replace(&mut **child, Child::empty());
                node.kind = self.join(own, child, key.slice(..below))?;
            }
            NodeKind::Branch(children) => {
                let child = child_of(children, key, depth);
                if !self.remove(child, depth + 1, key)? {
                    return Ok(false);
                }
                if let Some((index, only)) = child.is_empty().then(|| only_child(children)).flatten() {
                    let step = Nibbles::from_nibbles_unchecked([index]);
                    node.kind = self.join(step, only, key.slice(..depth).join(&step))?;
                }
            }
        }
        link.touch();
        Ok(true)
    }

    /// Return the node of `prefix` followed by `child`. `path` is the child's path.
    fn join(&mut self, prefix: Nibbles, mut child: Child, path: Nibbles) -> Result<NodeKind, TrieError> {
        if self.store.is_partial() {
            if let Err(TrieError::Missing(_)) = self.load(&mut child, || path) {
                // No known value lies below the missing node. The node is taken for a branch, as most nodes
                // above leaves are.
                return Ok(NodeKind::Extension { key: prefix, child: Box::new(child) });
            }
        }
        let node = self.load(&mut child, || path)?;
        let kind = match &mut node.kind {
            // A branch keeps its path, so it also keeps its row.
            NodeKind::Branch(_) => return Ok(NodeKind::Extension { key: prefix, child: Box::new(child) }),
            NodeKind::Leaf { key, value } => {
                NodeKind::Leaf { key: prefix.join(key), value: std::mem::take(value) }
            }
            NodeKind::Extension { key, child } => {
                let below = std::mem::replace(&mut **child, Child::empty());
                NodeKind::Extension { key: prefix.join(key), child: Box::new(below) }
            }
        };
        if node.stored {
            self.stale.push(path);
        }
        Ok(kind)
    }

    /// Return the node of `link`, which is not empty, decoded from its parent or from the store if it is not
    /// loaded.
    pub(super) fn load<'c>(
        &mut self,
        link: &'c mut Child,
        path: impl Fn() -> Nibbles,
    ) -> Result<&'c mut Node, TrieError> {
        let node = match link.node.take() {
            Some(node) => node,
            None => {
                *self.held += 1;
                Box::new(read(self.store, self.owner, &link.reference, path())?)
            }
        };
        Ok(link.node.insert(node))
    }

    fn leaf(&mut self, key: Nibbles, value: Vec<u8>) -> Child {
        *self.held += 1;
        Child::made(NodeKind::Leaf { key, value })
    }

    fn branch_below(&mut self, prefix: Nibbles, children: Children) -> NodeKind {
        let branch = NodeKind::Branch(children);
        if prefix.is_empty() {
            return branch;
        }
        *self.held += 1;
        NodeKind::Extension { key: prefix, child: Box::new(Child::made(branch)) }
    }
}

/// Return the node of a reference: the short node in the reference itself, or the row at its path, checked
/// against the hash.
pub(super) fn read(
    store: &impl NodeStore,
    owner: Option<&B256>,
    reference: &RlpNode,
    path: Nibbles,
) -> Result<Node, TrieError> {
    let Some(hash) = reference.as_hash() else {
        return decoded(reference, false, &path);
    };
    let node = || Box::new(NodeRef { owner: owner.copied(), path, hash });
    let at_path = store.node(owner, &path)?;
    let Some(encoded) = at_path.map_or_else(|| store.named(&hash), |found| Ok(Some(found)))? else {
        return Err(TrieError::Missing(node()));
    };
    let found = keccak256(encoded);
    if found != hash {
        return Err(TrieError::WrongNode { node: node(), found });
    }
    decoded(encoded, true, &path)
}

fn decoded(encoded: &[u8], stored: bool, path: &Nibbles) -> Result<Node, TrieError> {
    let node = Node::decode(encoded, stored)?;
    if !node.fits_at(path.len()) {
        return Err(TrieError::Rlp(alloy_rlp::Error::Custom("it lies deeper than a key reaches")));
    }
    Ok(node)
}

fn nibble(key: &Nibbles, index: usize) -> usize {
    usize::from(key.get_unchecked(index))
}

fn child_of<'c>(children: &'c mut Children, key: &Nibbles, depth: usize) -> &'c mut Child {
    &mut children[nibble(key, depth)]
}

/// Return the only child and its nibble, and take it out. None if there is more or less than one.
fn only_child(children: &mut Children) -> Option<(u8, Child)> {
    let mut present = (0u8..).zip(children.iter_mut()).filter(|(_, child)| !child.is_empty());
    let (index, only) = present.next()?;
    if present.next().is_some() {
        return None;
    }
    Some((index, std::mem::replace(only, Child::empty())))
}
