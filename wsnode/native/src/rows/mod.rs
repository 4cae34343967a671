//! Compact rows: how a block is kept in the chain store.
