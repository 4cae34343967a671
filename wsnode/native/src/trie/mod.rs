//! A Merkle Patricia trie over nodes kept by path.
