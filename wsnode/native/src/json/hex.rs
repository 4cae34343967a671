//! Lower-case hexadecimal digits of bytes.

/// Return the digit of a nibble, by arithmetic: a loop over it compiles to vector instructions, a table does
/// not.
#[inline(always)]
const fn digit(nibble: u8) -> u8 {
    nibble + b'0' + if nibble > 9 { b'a' - b'9' - 1 } else { 0 }
}

/// Write the digits of `bytes` to `text`, which must be twice as long.
#[inline(always)]
pub fn write_digits(bytes: &[u8], text: &mut [u8]) {
    for (byte, pair) in bytes.iter().zip(text.chunks_exact_mut(2)) {
        pair[0] = digit(byte >> 4);
        pair[1] = digit(byte & 15);
    }
}

/// Return the sixteen digits of `number`, leading zeros included.
#[inline]
pub fn number_digits(number: u64) -> [u8; 16] {
    let mut text = [0; 16];
    write_digits(&number.to_be_bytes(), &mut text);
    text
}
