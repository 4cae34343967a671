//! Little-endian numbers at the end of a row being written.

/// Append `value` in four bytes.
///
/// A block's size is bounded far below 2**32, so no position exceeds it.
#[inline]
pub fn push_u32(row: &mut Vec<u8>, value: usize) {
    debug_assert!(u32::try_from(value).is_ok());
    row.extend_from_slice(&(value as u32).to_le_bytes());
}

/// Write `value` over the four bytes at `position`, which must have been written before.
#[inline]
pub fn set_u32(row: &mut [u8], position: usize, value: usize) {
    debug_assert!(u32::try_from(value).is_ok());
    row[position..position + 4].copy_from_slice(&(value as u32).to_le_bytes());
}
