//! Buffer to which JSON is written.

/// Growing JSON text.
#[derive(Debug, Default)]
pub struct Writer {
    text: Vec<u8>,
}

impl Writer {
    pub fn new(text: Vec<u8>) -> Self {
        Self { text }
    }

    pub fn into_text(self) -> Vec<u8> {
        self.text
    }

    /// Reserve room for `length` more bytes in one allocation.
    pub fn reserve(&mut self, length: usize) {
        self.text.reserve(length);
    }

    /// Append a piece of fixed text: keys, quotes, commas.
    #[inline]
    pub fn fixed<const N: usize>(&mut self, text: &[u8; N]) {
        self.text.extend_from_slice(text);
    }

    /// Append a piece of any text.
    pub fn text(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
    }

    /// Remove the end of an object, so that members can be added.
    pub fn reopen(&mut self) {
        self.text.pop_if(|last| *last == b'}');
    }

    /// Append the digits of bytes of a fixed length, without prefix.
    #[inline]
    pub fn hash<const N: usize>(&mut self, bytes: &[u8; N]) {
        let start = self.text.len();
        self.text.resize(start + 2 * N, 0);
        write_digits(bytes, &mut self.text[start..]);
    }

    /// Append any bytes as two hexadecimal digits each, without prefix.
    pub fn bytes(&mut self, bytes: &[u8]) {
        let start = self.text.len();
        self.text.resize(start + 2 * bytes.len(), 0);
        write_digits(bytes, &mut self.text[start..]);
    }

    /// Append a string of `0x` and the digits of any bytes.
    pub fn quoted_bytes(&mut self, bytes: &[u8]) {
        self.fixed(b"\"0x");
        self.bytes(bytes);
        self.fixed(b"\"");
    }

    /// Append the digits of a number, without prefix and without leading zeros.
    #[inline]
    pub fn quantity(&mut self, number: u64) {
        if number < 16 {
            return self.text.push(number_digits(number)[15]);
        }
        let digits = 16 - number.leading_zeros() as usize / 4;
        let shifted = number_digits(number << (64 - 4 * digits));
        self.text.extend_from_slice(&shifted[..digits]);
    }

    /// Append the digits of a number below 2^128, without prefix and without leading zeros.
    #[inline]
    pub fn wide_quantity(&mut self, number: u128) {
        match u64::try_from(number) {
            Ok(number) => self.quantity(number),
            Err(_) => self.big_quantity(&number.to_be_bytes()),
        }
    }

    /// Append the digits of a big-endian number, without prefix and without leading zeros.
    #[inline]
    pub fn big_quantity(&mut self, number: &[u8]) {
        match number {
            [] => self.text.push(b'0'),
            [0, rest @ ..] => self.big_quantity(rest),
            [first @ 1..16, rest @ ..] => {
                self.quantity(u64::from(*first));
                self.bytes(rest);
            }
            _ => self.bytes(number),
        }
    }

    /// Append `[`, the items by `write` with commas between them, and `]`.
    #[inline]
    pub fn list<T, E>(
        &mut self,
        items: impl Iterator<Item = Result<T, E>>,
        mut write: impl FnMut(&mut Self, T) -> Result<(), E>,
    ) -> Result<(), E> {
        self.text.push(b'[');
        for (index, item) in items.enumerate() {
            if index > 0 {
                self.text.push(b',');
            }
            write(self, item?)?;
        }
        self.text.push(b']');
        Ok(())
    }
}

/// Return the digit of a nibble, by arithmetic: a loop over it compiles to vector instructions, a table does
/// not.
#[inline(always)]
const fn digit(nibble: u8) -> u8 {
    nibble + b'0' + if nibble > 9 { b'a' - b'9' - 1 } else { 0 }
}

/// Write the digits of `bytes` to `text`, which must be twice as long.
#[inline(always)]
fn write_digits(bytes: &[u8], text: &mut [u8]) {
    for (byte, pair) in bytes.iter().zip(text.chunks_exact_mut(2)) {
        pair[0] = digit(byte >> 4);
        pair[1] = digit(byte & 15);
    }
}

/// Return the sixteen digits of `number`, leading zeros included.
#[inline]
fn number_digits(number: u64) -> [u8; 16] {
    let mut text = [0; 16];
    write_digits(&number.to_be_bytes(), &mut text);
    text
}
