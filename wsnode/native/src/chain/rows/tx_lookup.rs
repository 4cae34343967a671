//! Index of the locations of transactions, by the first eight bytes of their hashes.
//!
//! Full hashes would be most of the index's size. The first eight bytes almost always name one transaction. A
//! row lists all locations that share them, one after another; the full hash in the body row distinguishes
//! these.
//!
//! ```text
//! per location: block number (5, big-endian) | index in the block (3, big-endian)
//! ```

use alloy_primitives::B256;

const PREFIX: usize = 8;
const NUMBER: usize = 5;
/// Bytes of a location.
pub const LOCATION_SIZE: usize = 8;

/// Return the key under which a transaction's locations are listed.
pub fn lookup_key(hash: &B256) -> &[u8] {
    &hash[..PREFIX]
}

/// Return the location of a transaction; None for a block number from 2**40 on, or an index from 2**24 on.
pub fn location(number: u64, index: usize) -> Option<[u8; LOCATION_SIZE]> {
    let (number, index) = (number.to_be_bytes(), u32::try_from(index).ok()?.to_be_bytes());
    let mut location = [0; LOCATION_SIZE];
    location[..NUMBER].copy_from_slice(number.strip_prefix(&[0; 8 - NUMBER])?);
    location[NUMBER..].copy_from_slice(index.strip_prefix(&[0; 4 - (LOCATION_SIZE - NUMBER)])?);
    Some(location)
}

/// Return the locations in a row: for each the block's number, as the key of its rows, and the index in the
/// block.
pub fn locations(row: &[u8]) -> impl Iterator<Item = ([u8; 8], usize)> + '_ {
    row.as_chunks::<LOCATION_SIZE>().0.iter().map(|location| {
        let location = u64::from_be_bytes(*location);
        ((location >> (8 * (LOCATION_SIZE - NUMBER))).to_be_bytes(), (location & 0xff_ffff) as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_what_was_put_there() {
        let known = [(0, 0), (1, 2), (25_000_000, 65_536), ((1 << 40) - 1, (1 << 24) - 1)];
        let row: Vec<u8> =
            known.iter().flat_map(|(number, index)| location(*number, *index).unwrap()).collect();
        let read: Vec<_> = locations(&row).map(|(key, index)| (u64::from_be_bytes(key), index)).collect();
        assert_eq!(read, known);
    }

    #[test]
    fn what_is_too_large_has_no_place() {
        assert_eq!(location(1 << 40, 0), None);
        assert_eq!(location(0, 1 << 24), None);
    }
}
