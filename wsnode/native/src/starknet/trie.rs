//! Merkle-Patricia trie of Starknet: binary, of height 251, kept in memory with lazily computed hashes.
//!
//! A binary node hashes to `h(left, right)`, an edge to `h(child, path) + length`, a leaf is its value and an empty
//! trie has the root 0 (docs.starknet.io, "Starknet state", section on the trie).

use std::marker::PhantomData;

use starknet_types_core::felt::Felt;
use starknet_types_core::hash::StarkHash;

/// Height of a trie: the number of bits of a key.
pub const HEIGHT: usize = 251;

type NodeId = u32;
pub type PathKey = [u8; 32];

enum BinaryNode {
    Leaf(Felt),
    Binary {
        children: [NodeId; 2],
        hash: Option<Felt>,
    },
    /// Edge to `child`, by the `length` bits of `key` from the node's depth on.
    Edge {
        key: PathKey,
        length: usize,
        child: NodeId,
        hash: Option<Felt>,
    },
}

/// Node of a proof: its children are hashes, or the values of leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProofNode {
    Binary {
        left: Felt,
        right: Felt,
    },
    /// Edge to `child`, by the `length` low bits of `path`.
    Edge {
        path: Felt,
        length: u64,
        child: Felt,
    },
}

impl ProofNode {
    pub fn hash<H: StarkHash>(&self) -> Felt {
        match self {
            Self::Binary { left, right } => H::hash(left, right),
            Self::Edge { path, length, child } => H::hash(child, path) + Felt::from(*length),
        }
    }

    pub fn children(&self) -> [Felt; 2] {
        match *self {
            Self::Binary { left, right } => [left, right],
            Self::Edge { child, .. } => [child, child],
        }
    }
}

/// Trie with the hash function `H` for its nodes.
pub struct BinaryTrie<H> {
    nodes: Vec<BinaryNode>,
    free: Vec<NodeId>,
    root: Option<NodeId>,
    hasher: PhantomData<H>,
}

impl<H> Default for BinaryTrie<H> {
    fn default() -> Self {
        Self { nodes: Vec::new(), free: Vec::new(), root: None, hasher: PhantomData }
    }
}

impl<H: StarkHash> BinaryTrie<H> {
    /// Put `value` at `key`; zero removes the leaf.
    pub fn set(&mut self, key: &Felt, value: Felt) {
        let key = key.to_bytes_be();
        self.root = match self.root {
            None => self.branch_to(&key, 0, value),
            Some(root) => self.insert(root, &key, 0, value),
        };
    }

    /// Return the root, a commitment to all leaves; 0 for an empty trie.
    ///
    /// Only nodes changed since the last call are hashed again.
    pub fn root(&mut self) -> Felt {
        self.root.map_or(Felt::ZERO, |root| self.hash(root, 0))
    }

    /// Return the inner nodes from the root towards `key`, each as its hash and the node.
    ///
    /// The last one is the parent of the key's leaf, or the edge whose bits differ from the key.
    pub fn path(&mut self, key: &Felt) -> Vec<(Felt, ProofNode)> {
        let key = key.to_bytes_be();
        let (mut next, mut depth) = (self.root, 0);
        let mut path = Vec::new();
        while let Some(id) = next {
            let hash = self.hash(id, depth);
            next = match self.nodes[id as usize] {
                BinaryNode::Leaf(_) => None,
                BinaryNode::Binary { children, .. } => {
                    let [left, right] = children.map(|child| self.hash(child, depth + 1));
                    path.push((hash, ProofNode::Binary { left, right }));
                    let side = bit(&key, depth);
                    depth += 1;
                    Some(children[side])
                }
                BinaryNode::Edge { key: own, length, child, .. } => {
                    let below = self.hash(child, depth + length);
                    let bits = path_felt(&own, depth, length);
                    path.push((hash, ProofNode::Edge { path: bits, length: length as u64, child: below }));
                    let is_on_the_way = common_bits(&key, &own, depth, length) == length;
                    depth += length;
                    is_on_the_way.then_some(child)
                }
            };
        }
        path
    }

    fn insert(&mut self, id: NodeId, key: &PathKey, depth: usize, value: Felt) -> Option<NodeId> {
        match self.nodes[id as usize] {
            BinaryNode::Leaf(_) if value == Felt::ZERO => self.remove(id),
            BinaryNode::Leaf(ref mut old) => {
                *old = value;
                Some(id)
            }
            BinaryNode::Binary { children, .. } => self.insert_below_binary(id, children, key, depth, value),
            BinaryNode::Edge { key: path, length, child, .. } => {
                let common = common_bits(key, &path, depth, length);
                if common == length {
                    self.insert_below_edge(id, child, key, depth, length, value)
                } else if value == Felt::ZERO {
                    Some(id)
                } else {
                    Some(self.split_edge(id, key, depth, common, value))
                }
            }
        }
    }

    fn insert_below_binary(
        &mut self,
        id: NodeId,
        mut children: [NodeId; 2],
        key: &PathKey,
        depth: usize,
        value: Felt,
    ) -> Option<NodeId> {
        let side = bit(key, depth);
        if let Some(child) = self.insert(children[side], key, depth + 1, value) {
            children[side] = child;
            self.nodes[id as usize] = BinaryNode::Binary { children, hash: None };
            return Some(id);
        }
        // Only the sibling remains, so an edge of one bit to it replaces this node.
        self.free.push(id);
        Some(self.edge(flipped(key, depth), 1, children[1 - side]))
    }

    fn insert_below_edge(
        &mut self,
        id: NodeId,
        child: NodeId,
        key: &PathKey,
        depth: usize,
        length: usize,
        value: Felt,
    ) -> Option<NodeId> {
        self.free.push(id);
        let child = self.insert(child, key, depth + length, value)?;
        Some(self.edge(*key, length, child))
    }

    /// Split the edge `id` after `common` bits with a binary node to the old child and to `value`; return the new node.
    fn split_edge(&mut self, id: NodeId, key: &PathKey, depth: usize, common: usize, value: Felt) -> NodeId {
        let BinaryNode::Edge { key: path, length, child, .. } = self.nodes[id as usize] else {
            unreachable!("only an edge is split")
        };
        self.free.push(id);
        let fork = depth + common;
        let rest = length - common - 1;
        let old = if rest > 0 { self.edge(path, rest, child) } else { child };
        let new = self.leaf_or_edge(key, fork + 1, value);
        let children = if bit(key, fork) == 0 { [new, old] } else { [old, new] };
        let binary = self.add(BinaryNode::Binary { children, hash: None });
        if common > 0 {
            self.edge(*key, common, binary)
        } else {
            binary
        }
    }

    fn branch_to(&mut self, key: &PathKey, depth: usize, value: Felt) -> Option<NodeId> {
        (value != Felt::ZERO).then(|| self.leaf_or_edge(key, depth, value))
    }

    fn leaf_or_edge(&mut self, key: &PathKey, depth: usize, value: Felt) -> NodeId {
        let leaf = self.add(BinaryNode::Leaf(value));
        if depth == HEIGHT {
            leaf
        } else {
            self.edge(*key, HEIGHT - depth, leaf)
        }
    }

    /// Add an edge of `length` bits to `child` and return its id; if `child` is an edge, both become one edge.
    ///
    /// An edge's key has the right bits all the way from the root, so the lower key serves the joined edge.
    fn edge(&mut self, key: PathKey, length: usize, child: NodeId) -> NodeId {
        if let BinaryNode::Edge { key, length: below, child: grandchild, .. } = self.nodes[child as usize] {
            self.nodes[child as usize] =
                BinaryNode::Edge { key, length: length + below, child: grandchild, hash: None };
            return child;
        }
        self.add(BinaryNode::Edge { key, length, child, hash: None })
    }

    fn hash(&mut self, id: NodeId, depth: usize) -> Felt {
        match self.nodes[id as usize] {
            BinaryNode::Leaf(value) => value,
            BinaryNode::Binary { hash: Some(hash), .. } | BinaryNode::Edge { hash: Some(hash), .. } => hash,
            BinaryNode::Binary { children: [left, right], .. } => {
                let computed = H::hash(&self.hash(left, depth + 1), &self.hash(right, depth + 1));
                self.keep_hash(id, computed)
            }
            BinaryNode::Edge { key, length, child, .. } => {
                let below = self.hash(child, depth + length);
                let computed = H::hash(&below, &path_felt(&key, depth, length)) + Felt::from(length);
                self.keep_hash(id, computed)
            }
        }
    }

    fn keep_hash(&mut self, id: NodeId, computed: Felt) -> Felt {
        if let BinaryNode::Binary { hash, .. } | BinaryNode::Edge { hash, .. } = &mut self.nodes[id as usize]
        {
            *hash = Some(computed);
        }
        computed
    }

    fn add(&mut self, node: BinaryNode) -> NodeId {
        if let Some(id) = self.free.pop() {
            self.nodes[id as usize] = node;
            return id;
        }
        self.nodes.push(node);
        NodeId::try_from(self.nodes.len() - 1).expect("a trie holds fewer than 2^32 nodes")
    }

    fn remove(&mut self, id: NodeId) -> Option<NodeId> {
        self.free.push(id);
        None
    }
}

/// Return the bit of `key` at `depth`: depth 0 is the highest of its 251 low bits.
fn bit(key: &PathKey, depth: usize) -> usize {
    let position = depth + 256 - HEIGHT;
    usize::from(key[position / 8] >> (7 - position % 8) & 1)
}

fn flipped(key: &PathKey, depth: usize) -> PathKey {
    let position = depth + 256 - HEIGHT;
    let mut other = *key;
    other[position / 8] ^= 1 << (7 - position % 8);
    other
}

/// Return how many of the `length` bits from `depth` on come before the first difference of both keys.
fn common_bits(left: &PathKey, right: &PathKey, depth: usize, length: usize) -> usize {
    (0..length).find(|&offset| bit(left, depth + offset) != bit(right, depth + offset)).unwrap_or(length)
}

/// Return the `length` bits of `key` from `depth` on, as a number.
pub fn path_felt(key: &PathKey, depth: usize, length: usize) -> Felt {
    let mut path = [0_u8; 32];
    for offset in 0..length {
        let position = 256 - length + offset;
        path[position / 8] |= (bit(key, depth + offset) as u8) << (7 - position % 8);
    }
    Felt::from_bytes_be(&path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use starknet_types_core::hash::Pedersen;

    fn trie(leaves: &[(u64, u64)]) -> BinaryTrie<Pedersen> {
        let mut trie = BinaryTrie::default();
        for &(key, value) in leaves {
            trie.set(&Felt::from(key), Felt::from(value));
        }
        trie
    }

    #[test]
    fn an_empty_trie_has_the_root_zero() {
        assert_eq!(trie(&[]).root(), Felt::ZERO);
        assert_eq!(trie(&[(5, 0)]).root(), Felt::ZERO);
    }

    #[test]
    fn one_leaf_is_an_edge_of_the_whole_height() {
        let expected = Pedersen::hash(&Felt::from(7), &Felt::from(5)) + Felt::from(251);
        assert_eq!(trie(&[(5, 7)]).root(), expected);
    }

    #[test]
    fn the_root_depends_on_the_leaves_alone_and_not_on_how_they_came() {
        let straight = trie(&[(1, 2), (3, 4), (4, 5), (1 << 40, 9)]).root();
        assert_eq!(trie(&[(1 << 40, 9), (4, 5), (1, 2), (3, 4)]).root(), straight);
        let mut detour = trie(&[(2, 8), (1, 1), (3, 4), (1 << 40, 9), (1 << 41, 1), (5, 5)]);
        detour.root();
        for (key, value) in [(2_u64, 0_u64), (1, 2), (4, 5), (1 << 41, 0), (5, 0), (6, 0)] {
            detour.set(&Felt::from(key), Felt::from(value));
        }
        assert_eq!(detour.root(), straight);
    }

    #[test]
    fn every_leaf_can_be_taken_out_again() {
        let keys = (0..200_u64).map(|n| n * n * 977 % 4099).collect::<Vec<_>>();
        let mut trie = trie(&keys.iter().map(|&key| (key, key + 1)).collect::<Vec<_>>());
        trie.root();
        for key in keys {
            trie.set(&Felt::from(key), Felt::ZERO);
        }
        assert_eq!(trie.root(), Felt::ZERO);
    }
}
