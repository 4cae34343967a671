//! Decoding of packed field elements, and field elements of texts.

use alloy_primitives::keccak256;
use starknet_types_core::felt::Felt;

/// Error of packed bytes whose length is no whole number of records.
#[derive(Debug, thiserror::Error)]
#[error("{length} bytes are no whole number of records of {record} field elements")]
pub struct PackingError {
    pub length: usize,
    pub record: usize,
}

/// Return the records in `packed`, `N` field elements of 32 bytes each.
pub fn records<const N: usize>(packed: &[u8]) -> Result<Vec<[Felt; N]>, PackingError> {
    if !packed.len().is_multiple_of(32 * N) {
        return Err(PackingError { length: packed.len(), record: N });
    }
    Ok(packed.chunks_exact(32 * N).map(record).collect())
}

/// Return the field elements in `packed`, 32 bytes each.
pub fn felts(packed: &[u8]) -> Result<Vec<Felt>, PackingError> {
    Ok(records::<1>(packed)?.into_iter().map(|[felt]| felt).collect())
}

/// Return the field element of a short string: its ASCII bytes, big-endian.
pub fn short_string(word: &str) -> Felt {
    Felt::from_bytes_be_slice(word.as_bytes())
}

/// Return the low 250 bits of the Keccak-256 hash, a field element.
pub fn starknet_keccak(bytes: &[u8]) -> Felt {
    let mut digest = keccak256(bytes).0;
    digest[0] &= 0x03;
    Felt::from_bytes_be(&digest)
}

fn record<const N: usize>(packed: &[u8]) -> [Felt; N] {
    std::array::from_fn(|index| Felt::from_bytes_be_slice(&packed[32 * index..32 * (index + 1)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_is_the_keccak_of_its_name() {
        let expected = "0x28ffe4ff0f226a9107253e17a904099aa4f63a02a5621de0576e5aa71bc5194";
        assert_eq!(starknet_keccak(b"constructor"), Felt::from_hex_unchecked(expected));
    }

    #[test]
    fn half_a_record_is_refused() {
        assert!(records::<2>(&[0; 96]).is_err());
        assert_eq!(records::<2>(&[0; 128]).unwrap().len(), 2);
    }
}
