//! Bounds-checked reads at a position of a row, and their errors.

use alloy_primitives::{Address, B256};

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

#[inline]
pub fn slice(row: &[u8], position: usize, length: usize) -> Result<&[u8], RowError> {
    position.checked_add(length).and_then(|end| row.get(position..end)).ok_or(RowError::Short {
        position,
        needed: length,
        length: row.len(),
    })
}

#[inline]
pub fn range(row: &[u8], start: usize, end: usize) -> Result<&[u8], RowError> {
    row.get(start..end).ok_or(RowError::Corrupt("offsets are not in order or lie outside the row"))
}

#[inline]
pub fn array<const N: usize>(row: &[u8], position: usize) -> Result<&[u8; N], RowError> {
    let short = RowError::Short { position, needed: N, length: row.len() };
    row.get(position..).and_then(|rest| rest.first_chunk()).ok_or(short)
}

#[inline]
pub fn byte(row: &[u8], position: usize) -> Result<u8, RowError> {
    array::<1>(row, position).map(|bytes| bytes[0])
}

#[inline]
pub fn u32_at(row: &[u8], position: usize) -> Result<usize, RowError> {
    array(row, position).map(|bytes| u32::from_le_bytes(*bytes) as usize)
}

#[inline]
pub fn u64_at(row: &[u8], position: usize) -> Result<u64, RowError> {
    array(row, position).map(|bytes| u64::from_le_bytes(*bytes))
}

#[inline]
pub fn hash_at(row: &[u8], position: usize) -> Result<&B256, RowError> {
    array::<32>(row, position).map(Into::into)
}

#[inline]
pub fn address_at(row: &[u8], position: usize) -> Result<&Address, RowError> {
    array::<20>(row, position).map(Into::into)
}

#[inline]
pub fn check_version(row: &[u8], name: &'static str, version: u8) -> Result<(), RowError> {
    match byte(row, 0)? {
        found if found == version => Ok(()),
        found => Err(RowError::Version { row: name, version: found }),
    }
}
