//! Store of the nodes that a trie does not hold in memory.

use alloy_primitives::B256;
use alloy_trie::Nibbles;

/// Reader of the rows of one committed head.
pub trait NodeStore {
    /// Return the RLP of the node at `path` in the trie of `owner`, or None. The owner is an account's hashed
    /// address, or None for the trie of accounts.
    fn node(&self, owner: Option<&B256>, path: &Nibbles) -> Result<Option<&[u8]>, TrieError>;

    /// Return the RLP of the node with this hash, or None. It is called if there is no node at the path, and
    /// finds nodes only in stores by hash.
    fn named(&self, _hash: &B256) -> Result<Option<&[u8]>, TrieError> {
        Ok(None)
    }

    /// Return whether nodes may be missing on which no known value depends.
    fn is_partial(&self) -> bool {
        false
    }
}

/// Store without nodes, for tries that begin empty.
#[derive(Debug, Clone, Copy)]
pub struct NoNodes;

impl NodeStore for NoNodes {
    fn node(&self, _: Option<&B256>, _: &Nibbles) -> Result<Option<&[u8]>, TrieError> {
        Ok(None)
    }
}

/// Error of a trie that could not be read. The trie must not be used again.
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

/// Node that a parent names.
#[derive(Debug)]
pub struct NodeRef {
    /// Hashed address of the account whose storage it belongs to; None for the trie of accounts.
    pub owner: Option<B256>,
    pub path: Nibbles,
    pub hash: B256,
}
