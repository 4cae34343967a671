//! A JSON text, read from its start.

/// How many arrays and objects may lie in one another.
const MAX_DEPTH: usize = 64;
/// Bytes of a string that are compared together.
const CHUNK: usize = 32;

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
        self.word(b"null")
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(word)?;
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
        let mut seen = 0;
        self.entries(|text, name| {
            let bit = member(text, name)?;
            let is_new = seen & bit == 0;
            seen |= bit;
            is_new.then_some(())
        })?;
        Some(seen)
    }

    /// Pass over an object: `entry` reads a value by its name.
    fn entries(&mut self, mut entry: impl FnMut(&mut Self, &'a [u8]) -> Option<()>) -> Option<()> {
        self.take(b'{')?;
        if self.take(b'}').is_some() {
            return Some(());
        }
        loop {
            let name = self.printable()?;
            self.take(b':')?;
            entry(self, name)?;
            if self.take(b',').is_none() {
                return self.take(b'}');
            }
        }
    }

    /// The value that comes next as it is written, if its strings are printable, its numbers whole and it is not deep.
    pub fn value(&mut self) -> Option<&'a [u8]> {
        self.skip_space();
        let begun = self.0;
        self.pass(MAX_DEPTH)?;
        Some(&begun[..begun.len() - self.0.len()])
    }

    fn pass(&mut self, depth: usize) -> Option<()> {
        self.skip_space();
        match self.0.first()? {
            b'"' => self.printable().map(drop),
            b'0'..=b'9' => self.integer().map(drop),
            b'[' => {
                let (below, _) = (depth.checked_sub(1)?, self.take(b'[')?);
                self.items(|text| text.pass(below)).map(drop)
            }
            b'{' => {
                let below = depth.checked_sub(1)?;
                self.entries(|text, _| text.pass(below))
            }
            _ => [&b"null"[..], b"true", b"false"].into_iter().find_map(|word| self.word(word)),
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

    /// The string that comes next, if it is of printable ASCII without escapes.
    pub fn printable(&mut self) -> Option<&'a [u8]> {
        self.string_of(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'))
    }

    fn string_of(&mut self, is_usual: impl Fn(u8) -> bool) -> Option<&'a [u8]> {
        self.take(b'"')?;
        // Many bytes are compared at once, which matters for a transaction of 100 KB.
        let usual = |chunk: &&[u8]| chunk.iter().fold(true, |usual, byte| usual & is_usual(*byte));
        let passed = CHUNK * self.0.chunks_exact(CHUNK).take_while(usual).count();
        let end = passed + self.0[passed..].iter().position(|byte| !is_usual(*byte))?;
        let (string, rest) = self.0.split_at(end);
        self.0 = rest.strip_prefix(b"\"")?;
        Some(string)
    }

    /// The digits of the whole number that comes next, without a sign.
    pub fn integer(&mut self) -> Option<&'a [u8]> {
        let size = match self.0.first()? {
            b'0' => 1,
            b'1'..=b'9' => self.0.iter().take_while(|byte| byte.is_ascii_digit()).count(),
            _ => return None,
        };
        let (digits, rest) = self.0.split_at(size);
        self.0 = rest;
        Some(digits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<(&str, &str)> {
        let mut text = Text(text.as_bytes());
        let value = text.value()?;
        Some((std::str::from_utf8(value).unwrap(), std::str::from_utf8(text.0).unwrap()))
    }

    #[test]
    fn usual_values_are_taken_as_they_are_written() {
        let long = format!("\"{}\"", "0x".repeat(1000));
        for text in [
            "null",
            "true",
            "false",
            "0",
            "1234567890123456789012345",
            r#""""#,
            r#""a ~""#,
            "[]",
            "[ ]",
            "{}",
            "{ }",
            r#"[1,"a" , null,[true],{"a":{"b":[]}, "a":0 } ]"#,
            &long,
        ] {
            assert_eq!(value(text), Some((text, "")), "{text}");
            assert_eq!(value(&format!(" \t{text} ,")), Some((text, " ,")), "{text}");
        }
    }

    #[test]
    fn all_other_values_are_left_alone() {
        let long = format!("\"{}\n\"", "0x".repeat(1000));
        for text in [
            "",
            "nul",
            "-1",
            "+1",
            "tru",
            "[",
            "[1",
            "[1,",
            "[,",
            "[1,]",
            "[1 2]",
            "]",
            "{",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":}",
            "{\"a\" 1}",
            "{1:1}",
            "{\"a\":1,}",
            "\"",
            "\"\\n\"",
            "\"\u{e9}\"",
            "\"\x7f\"",
            "\"\n\"",
            "'a'",
            &long,
        ] {
            assert_eq!(value(text), None, "{text}");
        }
        assert_eq!(value("01"), Some(("0", "1")));
        assert_eq!(value("1.5"), Some(("1", ".5")));
    }

    #[test]
    fn deep_values_are_left_alone() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(value(&nested(MAX_DEPTH)).is_some());
        assert!(value(&nested(MAX_DEPTH + 1)).is_none());
        assert!(value(&nested(1_000_000)).is_none());
    }
}
