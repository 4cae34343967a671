//! A JSON text, read from its start.

/// The rest of a JSON text.
pub struct Text<'a>(pub &'a [u8]);

impl<'a> Text<'a> {
    pub fn skip_space(&mut self) {
        let space = self.0.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        self.0 = &self.0[space.count()..];
    }

    /// Pass over a mark, if it comes next.
    pub fn take(&mut self, mark: u8) -> Option<()> {
        self.skip_space();
        self.0 = self.0.strip_prefix(&[mark])?;
        Some(())
    }

    /// Pass over `null`, if it comes next.
    pub fn null(&mut self) -> Option<()> {
        self.skip_space();
        self.0 = self.0.strip_prefix(b"null")?;
        Some(())
    }

    /// What `item` reads up to the end of an array whose start has been passed over.
    pub fn items<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut items = Vec::new();
        if self.take(b']').is_some() {
            return Some(items);
        }
        loop {
            items.push(item(self)?);
            if self.take(b',').is_none() {
                self.take(b']')?;
                return Some(items);
            }
        }
    }

    /// Which members an object has, as bits, each at most once: `member` reads a value by its name and returns its bit.
    pub fn members(&mut self, mut member: impl FnMut(&mut Self, &'a [u8]) -> Option<u8>) -> Option<u8> {
        self.take(b'{')?;
        let mut seen = 0;
        if self.take(b'}').is_some() {
            return Some(seen);
        }
        loop {
            let name = self.string()?;
            self.take(b':')?;
            let bit = member(self, name)?;
            if seen & bit != 0 {
                return None;
            }
            seen |= bit;
            if self.take(b',').is_none() {
                self.take(b'}')?;
                return Some(seen);
            }
        }
    }

    /// Nothing may be left but space.
    pub fn end(&mut self) -> Option<()> {
        self.skip_space();
        self.0.is_empty().then_some(())
    }

    /// The string that comes next; an escape ends it early, so that nothing usual is left of it.
    pub fn string(&mut self) -> Option<&'a [u8]> {
        self.string_of(|byte| !matches!(byte, b'"' | b'\\'))
    }

    /// The string that comes next, if each byte of it `is_usual`, which a quote must not be.
    pub fn string_of(&mut self, is_usual: impl Fn(u8) -> bool) -> Option<&'a [u8]> {
        self.take(b'"')?;
        let end = self.0.iter().position(|byte| !is_usual(*byte))?;
        let (string, rest) = self.0.split_at(end);
        self.0 = rest.strip_prefix(b"\"")?;
        Some(string)
    }
}
