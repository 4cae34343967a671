//! RLP items read in place, without building values.

use super::RowError;

/// Item of RLP: a string or a list, with its payload.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    pub is_list: bool,
    pub payload: &'a [u8],
}

/// Items of a list, read one after another.
#[derive(Debug, Clone, Copy)]
pub struct Items<'a> {
    rest: &'a [u8],
}

const CORRUPT: RowError = RowError::Corrupt("RLP");

impl<'a> Items<'a> {
    /// Return the items concatenated in `payload`.
    pub fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }

    pub fn of_list(encoded: &'a [u8]) -> Result<Self, RowError> {
        Self::new(encoded).list()
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Return the bytes of RLP not yet read.
    pub fn encoded_length(&self) -> usize {
        self.rest.len()
    }

    /// Return the payloads of all items, each of which must be a string.
    pub fn strings(mut self) -> impl Iterator<Item = Result<&'a [u8], RowError>> {
        std::iter::from_fn(move || self.advance(Self::string))
    }

    /// Return the items of each item, each of which must be a list.
    pub fn lists(mut self) -> impl Iterator<Item = Result<Self, RowError>> {
        std::iter::from_fn(move || self.advance(Self::list))
    }

    /// Return the result of `read`; None at the end and after an error.
    fn advance<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, RowError>,
    ) -> Option<Result<T, RowError>> {
        if self.is_empty() {
            return None;
        }
        let value = read(self);
        if value.is_err() {
            self.rest = &[];
        }
        Some(value)
    }

    /// Return the next item, which must exist.
    #[inline]
    pub fn item(&mut self) -> Result<Item<'a>, RowError> {
        let first = *self.rest.first().ok_or(CORRUPT)?;
        match first {
            ..0x80 => self.take(false, 0, 1),
            0x80..=0xb7 => self.take(false, 1, (first - 0x80) as usize),
            0xb8..=0xbf => self.take_long(false, (first - 0xb7) as usize),
            0xc0..=0xf7 => self.take(true, 1, (first - 0xc0) as usize),
            0xf8.. => self.take_long(true, (first - 0xf7) as usize),
        }
    }

    /// Return the payload of the next item, which must be a string.
    #[inline]
    pub fn string(&mut self) -> Result<&'a [u8], RowError> {
        self.item().and_then(|item| if item.is_list { Err(CORRUPT) } else { Ok(item.payload) })
    }

    /// Return the items of the next item, which must be a list.
    #[inline]
    pub fn list(&mut self) -> Result<Self, RowError> {
        self.item().and_then(|item| if item.is_list { Ok(Self::new(item.payload)) } else { Err(CORRUPT) })
    }

    /// Return the next item, which must be a string of exactly `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], RowError> {
        self.string()?.try_into().map_err(|_| CORRUPT)
    }

    /// Return the next item as a number below 2**64.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, RowError> {
        number(self.string()?)
    }

    #[inline]
    fn take(&mut self, is_list: bool, start: usize, length: usize) -> Result<Item<'a>, RowError> {
        let end = start.checked_add(length).ok_or(CORRUPT)?;
        let payload = self.rest.get(start..end).ok_or(CORRUPT)?;
        self.rest = &self.rest[end..];
        Ok(Item { is_list, payload })
    }

    fn take_long(&mut self, is_list: bool, width: usize) -> Result<Item<'a>, RowError> {
        let length = number(self.rest.get(1..1 + width).ok_or(CORRUPT)?)?;
        self.take(is_list, 1 + width, usize::try_from(length).map_err(|_| CORRUPT)?)
    }
}

/// Return the big-endian number in `bytes`, below 2**64.
#[inline]
pub fn number(bytes: &[u8]) -> Result<u64, RowError> {
    if bytes.len() > 8 {
        return Err(RowError::Corrupt("number above 64 bits"));
    }
    Ok(bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

/// Return the big-endian number in `bytes`, below 2**128.
#[inline]
pub fn wide_number(bytes: &[u8]) -> Result<u128, RowError> {
    if bytes.len() > 16 {
        return Err(RowError::Corrupt("number above 128 bits"));
    }
    Ok(bytes.iter().fold(0, |value, byte| value << 8 | u128::from(*byte)))
}
