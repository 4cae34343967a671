//! Where a trie finds the nodes that it does not hold in memory.

use alloy_primitives::B256;
use alloy_trie::Nibbles;

/// Reads the rows of one committed head.
pub trait NodeStore {
    /// The RLP of the node at `path` of the trie of `owner` (an account's hashed address; none for the
    /// trie of accounts).
    fn node(&self, owner: Option<&B256>, path: &Nibbles) -> Result<Option<&[u8]>, TrieError>;

    /// The RLP of the node with this hash, where nodes are kept by that as well: asked for if none is at the path.
    fn named(&self, _hash: &B256) -> Result<Option<&[u8]>, TrieError> {
        Ok(None)
    }

    /// Whether nodes may be missing that no value known depends on.
    fn is_partial(&self) -> bool {
        false
    }
}

/// A store without nodes, for tries that begin empty.
#[derive(Debug, Clone, Copy)]
pub struct NoNodes;

impl NodeStore for NoNodes {
    fn node(&self, _: Option<&B256>, _: &Nibbles) -> Result<Option<&[u8]>, TrieError> {
        Ok(None)
    }
}

/// A trie could not be read; it must not be used any further.
#[derive(Debug, thiserror::Error)]
pub enum TrieError {
    #[error("trie node {0:?} is missing")]
    Missing(Box<NodeRef>),
    #[error("trie node {node:?} has the hash {found}")]
    WrongNode { node: Box<NodeRef>, found: B256 },
    #[error("trie node does not decode: {0}")]
    Rlp(#[from] alloy_rlp::Error),
    #[error(transparent)]
    Store(Box<dyn std::error::Error + Send + Sync>),
}

/// A node that a parent names.
#[derive(Debug)]
pub struct NodeRef {
    /// The account whose storage it belongs to, by its hashed address.
    pub owner: Option<B256>,
    pub path: Nibbles,
    pub hash: B256,
}
