//! Errors of stored rows.

/// Reason for which a row cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    #[error("{row} row: unknown version {version}")]
    Version { row: &'static str, version: u8 },
    #[error("row ends early: {needed} bytes wanted at {position}, {length} stored")]
    Short { position: usize, needed: usize, length: usize },
    #[error("corrupt row: {0}")]
    Corrupt(&'static str),
}
