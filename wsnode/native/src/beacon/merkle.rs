//! Hash trees of SSZ: roots of leaves, and branches from a leaf to a root.
//!
//! consensus-specs/ssz/simple-serialize.md and ssz/merkle-proofs.md.

use alloy_primitives::B256;
use sha2::{Digest, Sha256};

/// Return the SHA-256 hash of `left` followed by `right`.
pub fn hash_pair(left: &[u8], right: &[u8]) -> B256 {
    B256::new(Sha256::new().chain_update(left).chain_update(right).finalize().into())
}

/// Return the root of a tree of `leaves`, with zero leaves up to the next power of two.
pub fn merkleize(leaves: &[B256]) -> B256 {
    let mut layer = leaves.to_vec();
    layer.resize(leaves.len().next_power_of_two(), B256::ZERO);
    while layer.len() > 1 {
        layer = layer.chunks_exact(2).map(|pair| hash_pair(&pair[0][..], &pair[1][..])).collect();
    }
    layer[0]
}

/// Return the leaf of a `uint64`: 8 bytes, little-endian, padded with zeros.
pub fn number_leaf(number: u64) -> B256 {
    bytes_leaf(&number.to_le_bytes())
}

/// Return at most 32 bytes as a leaf, padded with zeros on the right.
pub fn bytes_leaf(bytes: &[u8]) -> B256 {
    B256::right_padding_from(bytes)
}

/// Return the root of a vector of bytes, 32 bytes a leaf.
pub fn bytes_root(bytes: &[u8]) -> B256 {
    merkleize(&bytes.chunks(32).map(bytes_leaf).collect::<Vec<_>>())
}

/// Return the number of nodes in the branch of a generalized index.
pub const fn depth(index: u64) -> usize {
    index.ilog2() as usize
}

/// Return whether a branch, lowest node first, leads from a leaf at a generalized index to a root.
///
/// Nodes beyond the depth of the index stand at the beginning and must be zero: a later fork's form may have a
/// longer branch (altair/light-client/sync-protocol.md: `is_valid_normalized_merkle_branch`).
pub fn is_branch(leaf: B256, branch: &[B256], index: u64, root: B256) -> bool {
    let Some(extra) = branch.len().checked_sub(depth(index)) else { return false };
    let (zeros, nodes) = branch.split_at(extra);
    let hash = |below: B256, (level, node): (usize, &B256)| {
        if index >> level & 1 == 1 {
            hash_pair(&node[..], &below[..])
        } else {
            hash_pair(&below[..], &node[..])
        }
    };
    zeros.iter().all(B256::is_zero) && nodes.iter().enumerate().fold(leaf, hash) == root
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trie::tests::Numbers;

    /// Return the layers of a tree, from its leaves to its root.
    fn layers(leaves: Vec<B256>) -> Vec<Vec<B256>> {
        let mut layers = vec![leaves];
        while layers[layers.len() - 1].len() > 1 {
            let below = &layers[layers.len() - 1];
            layers.push(below.chunks(2).map(|pair| hash_pair(&pair[0][..], &pair[1][..])).collect());
        }
        layers
    }

    fn word(numbers: &mut Numbers) -> B256 {
        B256::from_slice(&std::array::from_fn::<u8, 32, _>(|_| numbers.next() as u8))
    }

    #[test]
    fn a_branch_of_any_tree_proves_its_leaf_and_no_other() {
        let mut numbers = Numbers(7);
        for round in 0..200 {
            let depth = round % 8 + 1;
            let tree = layers((0..1 << depth).map(|_| word(&mut numbers)).collect());
            let place = numbers.below(1 << depth) as usize;
            let index = (1 << depth) + place as u64;
            let branch: Vec<B256> = (0..depth).map(|level| tree[level][place >> level ^ 1]).collect();
            let (leaf, root) = (tree[0][place], tree[depth][0]);
            assert_eq!(merkleize(&tree[0]), root);
            assert!(is_branch(leaf, &branch, index, root));
            // A branch may begin with additional zeros, as in a later fork's form, but not with other nodes.
            assert!(is_branch(leaf, &[&[B256::ZERO; 2][..], &branch].concat(), index, root));
            assert!(!is_branch(leaf, &[&[word(&mut numbers)][..], &branch].concat(), index, root));
            assert!(!is_branch(leaf, &[&branch[..], &[B256::ZERO]].concat(), index, root));
            assert!(!is_branch(leaf, &branch[1..], index, root));
            assert!(!is_branch(leaf, &branch, index ^ 1, root));
            assert!(!is_branch(word(&mut numbers), &branch, index, root));
            let mut other = branch.clone();
            other[numbers.below(depth as u64) as usize].0[numbers.below(32) as usize] ^= 1;
            assert!(!is_branch(leaf, &other, index, root));
        }
    }

    #[test]
    fn leaves_are_padded_with_zeros_to_a_power_of_two() {
        let leaves = [number_leaf(1), number_leaf(2), number_leaf(3)];
        let right = hash_pair(&leaves[2][..], &B256::ZERO[..]);
        assert_eq!(merkleize(&leaves), hash_pair(&hash_pair(&leaves[0][..], &leaves[1][..])[..], &right[..]));
        assert_eq!(merkleize(&leaves[..1]), leaves[0]);
        assert_eq!(number_leaf(258)[..3], [2, 1, 0]);
    }
}
