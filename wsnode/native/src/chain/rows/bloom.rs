//! Bloom of a receipt as stored: the positions of its set bits while they are few, else all bytes.

use alloy_primitives::Bloom;

use super::RowError;

const BLOOM_BYTES: usize = 256;

/// Bloom of a receipt as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredBloom<'a> {
    /// Positions of the set bits, counted from the first byte's highest bit; two little-endian bytes each.
    Bits(&'a [u8]),
    Whole(&'a [u8; BLOOM_BYTES]),
}

impl<'a> StoredBloom<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, RowError> {
        match bytes.try_into() {
            Ok(whole) => Ok(Self::Whole(whole)),
            Err(_) if bytes.len() < BLOOM_BYTES && bytes.len().is_multiple_of(2) => Ok(Self::Bits(bytes)),
            Err(_) => Err(RowError::Corrupt("bloom")),
        }
    }

    /// Return the positions of the set bits of a sparse bloom; positions outside a bloom are taken modulo its
    /// size.
    pub fn positions(bits: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
        bits.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]) as usize % (8 * BLOOM_BYTES))
    }

    pub fn bloom(&self) -> Bloom {
        let mut bloom = Bloom::ZERO;
        match self {
            Self::Whole(bytes) => bloom.0.copy_from_slice(*bytes),
            Self::Bits(bits) => {
                Self::positions(bits).for_each(|position| bloom[position / 8] |= 0x80 >> (position % 8));
            }
        }
        bloom
    }
}

/// Append `bloom` in the shorter of its two forms.
pub fn push_bloom(row: &mut Vec<u8>, bloom: &Bloom) {
    let set: u32 = bloom.iter().map(|byte| byte.count_ones()).sum();
    if 2 * set as usize >= BLOOM_BYTES {
        return row.extend_from_slice(bloom.as_slice());
    }
    for (position, byte) in bloom.iter().enumerate().filter(|(_, byte)| **byte != 0) {
        for bit in (0..8).filter(|bit| byte & (0x80 >> bit) != 0) {
            row.extend_from_slice(&((8 * position + bit) as u16).to_le_bytes());
        }
    }
}
