//! CRC-32C (RFC 3720, appendix B.4) at the end of each row, so that a damaged row is never taken for a value.

use crc::{Crc, Table as Slices, CRC_32_ISCSI};

/// Bytes of a row's checksum, after its value.
pub const SIZE: usize = 4;

static PORTABLE: Crc<u32, Slices<16>> = Crc::<u32, Slices<16>>::new(&CRC_32_ISCSI);

/// Return the checksum of a key and its value, 4 bytes little-endian.
pub fn suffix(key: &[u8], value: &[u8]) -> [u8; SIZE] {
    checksum(key, value).to_le_bytes()
}

/// Return the value of a stored row; None if its checksum is wrong.
pub fn value_of<'r>(key: &[u8], stored: &'r [u8]) -> Option<&'r [u8]> {
    let (value, found) = stored.split_last_chunk::<SIZE>()?;
    (suffix(key, value) == *found).then_some(value)
}

fn checksum(key: &[u8], value: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("sse4.2") {
        // SAFETY: the processor has the instruction.
        return unsafe { !instructed(instructed(!0, key), value) };
    }
    portable(key, value)
}

fn portable(key: &[u8], value: &[u8]) -> u32 {
    let mut digest = PORTABLE.digest();
    digest.update(key);
    digest.update(value);
    digest.finalize()
}

/// Extend `sum` by `bytes`, with the processor's instruction for CRC-32C.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn instructed(sum: u32, bytes: &[u8]) -> u32 {
    use std::arch::x86_64::{_mm_crc32_u64, _mm_crc32_u8};

    let (words, rest) = bytes.as_chunks::<8>();
    let mut wide = u64::from(sum);
    for word in words {
        wide = _mm_crc32_u64(wide, u64::from_le_bytes(*word));
    }
    // `_mm_crc32_u64` leaves the upper half zero.
    let mut sum = wide as u32;
    for byte in rest {
        sum = _mm_crc32_u8(sum, *byte);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_standard() {
        // The examples are those of RFC 3720, appendix B.4, and the check value of the catalogue of CRCs.
        let ascending: Vec<u8> = (0..32).collect();
        let examples: [(&[u8], u32); 4] = [
            (&[0; 32], 0x8a91_36aa),
            (&[0xff; 32], 0x62a8_ab43),
            (&ascending, 0x46dd_794e),
            (b"123456789", 0xe306_9283),
        ];
        for (bytes, sum) in examples {
            for split in 0..=bytes.len() {
                let (key, value) = bytes.split_at(split);
                assert_eq!(
                    (checksum(key, value), portable(key, value)),
                    (sum, sum),
                    "{bytes:02x?} at {split}"
                );
            }
        }
    }

    #[test]
    fn a_row_with_any_other_bit_has_no_value() {
        let (key, value) = (b"a key", b"and a longer value");
        let row = [&value[..], &suffix(key, value)].concat();
        assert_eq!(value_of(key, &row), Some(&value[..]));
        for bit in 0..row.len() * 8 {
            let mut damaged = row.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(value_of(key, &damaged), None, "bit {bit}");
        }
        assert_eq!(value_of(b"a kez", &row), None);
        for length in 0..row.len() {
            assert_eq!(value_of(key, &row[..length]), None, "{length} bytes");
        }
        assert_eq!(value_of(b"", &suffix(b"", b"")), Some(&b""[..]));
    }
}
