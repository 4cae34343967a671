//! Header row: version, hash, size of the whole block, blob base fee, header RLP.
//!
//! ```text
//! 0 version | 1 hash (32) | 33 block size (4) | 37 length of the blob base fee (1) | blob base fee, big-endian | RLP
//! ```
//! The blob base fee is kept because it follows from the fork's blob parameters, which a reader does not have;
//! its length is 0 in blocks before blobs (the fee itself is never below 1).

use alloy_consensus::Header;
use alloy_primitives::B256;
use alloy_rlp::{Decodable, Encodable};

use super::read::{byte, check_version, hash_at, slice, u32_at};
use super::write::push_u32;
use super::{HeaderFields, RowError};

const VERSION: u8 = 1;
const BLOB_BASE_FEE: usize = 37;

/// Return the row of `header`, whose block has `size` bytes of RLP.
pub fn encode_header(header: &Header, hash: B256, size: usize, blob_base_fee: Option<u128>) -> Vec<u8> {
    let mut row = Vec::with_capacity(BLOB_BASE_FEE + 17 + header.length());
    row.push(VERSION);
    row.extend_from_slice(hash.as_slice());
    push_u32(&mut row, size);
    push_blob_base_fee(&mut row, blob_base_fee);
    header.encode(&mut row);
    row
}

fn push_blob_base_fee(row: &mut Vec<u8>, fee: Option<u128>) {
    let bytes = fee.unwrap_or(0).to_be_bytes();
    let used = bytes.len() - fee.unwrap_or(0).leading_zeros() as usize / 8;
    row.push(used as u8);
    row.extend_from_slice(&bytes[bytes.len() - used..]);
}

/// Header row, read in place.
#[derive(Debug, Clone, Copy)]
pub struct HeaderRow<'a> {
    hash: &'a B256,
    size: usize,
    blob_base_fee: Option<u128>,
    rlp: &'a [u8],
}

impl<'a> HeaderRow<'a> {
    pub fn new(row: &'a [u8]) -> Result<Self, RowError> {
        check_version(row, "header", VERSION)?;
        let length = byte(row, BLOB_BASE_FEE)? as usize;
        let rlp = BLOB_BASE_FEE + 1 + length;
        Ok(Self {
            hash: hash_at(row, 1)?,
            size: u32_at(row, 33)?,
            blob_base_fee: blob_base_fee(slice(row, BLOB_BASE_FEE + 1, length)?)?,
            rlp: slice(row, rlp, row.len().saturating_sub(rlp))?,
        })
    }

    pub fn hash(&self) -> &'a B256 {
        self.hash
    }

    /// Return the bytes of the whole block's RLP.
    pub fn size(&self) -> usize {
        self.size
    }

    pub fn blob_base_fee(&self) -> Option<u128> {
        self.blob_base_fee
    }

    pub fn rlp(&self) -> &'a [u8] {
        self.rlp
    }

    /// Return the members of the header, not decoded further.
    pub fn fields(&self) -> Result<HeaderFields<'a>, RowError> {
        HeaderFields::new(self.rlp)
    }

    pub fn header(&self) -> Result<Header, RowError> {
        Header::decode(&mut &*self.rlp).map_err(|_| RowError::Corrupt("header RLP"))
    }
}

fn blob_base_fee(bytes: &[u8]) -> Result<Option<u128>, RowError> {
    let mut padded = [0; 16];
    let start =
        padded.len().checked_sub(bytes.len()).ok_or(RowError::Corrupt("blob base fee is too long"))?;
    padded[start..].copy_from_slice(bytes);
    Ok((!bytes.is_empty()).then_some(u128::from_be_bytes(padded)))
}
