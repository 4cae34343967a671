//! Bounds-checked reads at a position of a row.

use alloy_primitives::{Address, B256};

use super::RowError;

/// Return `length` bytes of `row` from `position` on.
#[inline]
pub fn slice(row: &[u8], position: usize, length: usize) -> Result<&[u8], RowError> {
    position.checked_add(length).and_then(|end| row.get(position..end)).ok_or(RowError::Short {
        position,
        needed: length,
        length: row.len(),
    })
}

/// Return the bytes of `row` from `start` to before `end`.
#[inline]
pub fn range(row: &[u8], start: usize, end: usize) -> Result<&[u8], RowError> {
    row.get(start..end).ok_or(RowError::Corrupt("offsets are not in order or lie outside the row"))
}

/// Return `N` bytes of `row` from `position` on.
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

/// Check that `row` begins with `version`.
#[inline]
pub fn check_version(row: &[u8], name: &'static str, version: u8) -> Result<(), RowError> {
    match byte(row, 0)? {
        found if found == version => Ok(()),
        found => Err(RowError::Version { row: name, version: found }),
    }
}
