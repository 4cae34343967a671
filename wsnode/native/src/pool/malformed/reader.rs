//! RLP as geth's stream reads it, with its faults.

/// What an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Byte,
    String,
    List,
}

/// Why an item cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// There is no further item in the list.
    End,
    /// Longer than what holds it.
    TooLarge { in_list: bool },
    /// A size written with more bytes than it needs.
    Size,
}

impl Fault {
    pub fn words(self) -> &'static str {
        match self {
            Self::End => "unexpected EOF",
            Self::TooLarge { in_list: true } => "rlp: element is larger than containing list",
            Self::TooLarge { in_list: false } => "rlp: value size exceeds available input length",
            Self::Size => "rlp: non-canonical size information",
        }
    }
}

impl From<Fault> for String {
    fn from(fault: Fault) -> Self {
        fault.words().into()
    }
}

/// What the next item says of itself: its kind, the bytes before its payload, and the payload's length.
pub type Head = (Kind, usize, usize);

/// The items of one list, or the one item that the input is.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a [u8],
    in_list: bool,
}

impl<'a> Reader<'a> {
    pub fn new(rest: &'a [u8]) -> Self {
        Self { rest, in_list: false }
    }

    pub fn of_list(rest: &'a [u8]) -> Self {
        Self { rest, in_list: true }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// What the next item is, without reading it.
    pub fn head(&self) -> Result<Head, Fault> {
        let first = *self.rest.first().ok_or(Fault::End)?;
        let (kind, start, length) = match first {
            ..0x80 => return Ok((Kind::Byte, 0, 1)),
            0x80..=0xb7 => (Kind::String, 1, usize::from(first - 0x80)),
            0xb8..=0xbf => self.long(Kind::String, usize::from(first - 0xb7))?,
            0xc0..=0xf7 => (Kind::List, 1, usize::from(first - 0xc0)),
            0xf8.. => self.long(Kind::List, usize::from(first - 0xf7))?,
        };
        // geth compares with what the list held before the item's size was read.
        let available = self.rest.len() - if self.in_list { 0 } else { start };
        if length > available {
            return Err(self.too_large());
        }
        Ok((kind, start, length))
    }

    /// The payload of the next item.
    pub fn take(&mut self) -> Result<(Kind, &'a [u8]), Fault> {
        let (kind, start, length) = self.head()?;
        let payload = self.rest.get(start..start + length).ok_or(self.too_large())?;
        self.rest = &self.rest[start + length..];
        Ok((kind, payload))
    }

    fn long(&self, kind: Kind, width: usize) -> Result<Head, Fault> {
        let size = self.rest.get(1..1 + width).ok_or(self.too_large())?;
        let length = size.iter().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
        if length < 56 || (width > 1 && size[0] == 0) {
            return Err(Fault::Size);
        }
        usize::try_from(length).map(|length| (kind, 1 + width, length)).map_err(|_| self.too_large())
    }

    fn too_large(&self) -> Fault {
        Fault::TooLarge { in_list: self.in_list }
    }
}
