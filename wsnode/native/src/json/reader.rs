//! Reader of a JSON text from its start, for the usual forms of requests.

/// Highest nesting of arrays and objects.
const MAX_DEPTH: usize = 64;
/// Bytes of a string that are compared together.
const CHUNK: usize = 32;
/// Bytes that end a number or a word.
const ENDS: &[u8] = b",]}: \t\r\n";

/// Rest of a JSON text. A read returns None if the next item has another form.
pub struct Text<'a>(pub &'a [u8]);

impl<'a> Text<'a> {
    pub fn skip_space(&mut self) {
        let space = self.0.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        self.0 = &self.0[space.count()..];
    }

    /// Skip a mark, if it comes next.
    pub fn take(&mut self, mark: u8) -> Option<()> {
        self.skip_space();
        self.0 = self.0.strip_prefix(&[mark])?;
        Some(())
    }

    /// Skip `null`, if it comes next.
    pub fn null(&mut self) -> Option<()> {
        self.skip_space();
        self.word(b"null")
    }

    pub fn boolean(&mut self) -> Option<bool> {
        self.skip_space();
        self.word(b"true").map(|()| true).or_else(|| self.word(b"false").map(|()| false))
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(word)?;
        Some(())
    }

    /// Return the items that `item` reads up to the end of an array. The array's start must have been read.
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

    /// Return the bits of an object's members, each of which may occur once. `member` reads a value by its
    /// name, and returns the member's bit.
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

    /// Read an object. `entry` reads a value by its name.
    pub fn entries(&mut self, mut entry: impl FnMut(&mut Self, &'a [u8]) -> Option<()>) -> Option<()> {
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

    /// Return the next value as written. None if a string is not printable, a number is not whole, the
    /// nesting is too deep, or there are more than `most` values; a member's name counts as one.
    pub fn value(&mut self, most: usize) -> Option<&'a [u8]> {
        self.skip_space();
        let (begun, mut left) = (self.0, most);
        self.pass(MAX_DEPTH, &mut left)?;
        Some(&begun[..begun.len() - self.0.len()])
    }

    fn pass(&mut self, depth: usize, left: &mut usize) -> Option<()> {
        *left = left.checked_sub(1)?;
        self.skip_space();
        match self.0.first()? {
            b'"' => self.printable().map(drop),
            b'0'..=b'9' => self.integer().map(drop),
            b'[' => {
                let (below, _) = (depth.checked_sub(1)?, self.take(b'[')?);
                self.items(|text| text.pass(below, left)).map(drop)
            }
            b'{' => {
                let below = depth.checked_sub(1)?;
                self.entries(|text, _| {
                    *left = left.checked_sub(1)?;
                    text.pass(below, left)
                })
            }
            _ => [&b"null"[..], b"true", b"false"].into_iter().find_map(|word| self.word(word)),
        }
    }

    /// Check that only space is left.
    pub fn end(&mut self) -> Option<()> {
        self.skip_space();
        self.0.is_empty().then_some(())
    }

    /// Return the next string. It ends early at an escape, so that the rest has no usual form.
    pub fn string(&mut self) -> Option<&'a [u8]> {
        self.string_of(|byte| !matches!(byte, b'"' | b'\\'))
    }

    /// Return the next string, if it is printable ASCII without escapes.
    pub fn printable(&mut self) -> Option<&'a [u8]> {
        self.string_of(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'))
    }

    fn string_of(&mut self, is_usual: impl Fn(u8) -> bool) -> Option<&'a [u8]> {
        self.take(b'"')?;
        let (string, rest) = self.0.split_at(find(self.0, |byte| !is_usual(byte))?);
        self.0 = rest.strip_prefix(b"\"")?;
        Some(string)
    }

    /// Return the next string, if it has `size` bytes. The caller must accept digits only, because any bytes
    /// pass here, quotes included. A second pass over each of a thousand hashes would take half as long
    /// again.
    pub fn sized(&mut self, size: usize) -> Option<&'a [u8]> {
        self.take(b'"')?;
        let (string, rest) = self.0.split_at_checked(size)?;
        self.0 = rest.strip_prefix(b"\"")?;
        Some(string)
    }

    /// Return the digits of the next whole number, without a sign.
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

/// Reads of a text that is known to be JSON, in any of its forms. They find strings and brackets alone.
impl<'a> Text<'a> {
    /// Return the content of the next string between its quotes, with its escapes.
    pub fn any_string(&mut self) -> Option<&'a [u8]> {
        self.take(b'"')?;
        let begun = self.0;
        self.pass_string()?;
        Some(&begun[..begun.len() - self.0.len() - 1])
    }

    /// Skip the rest of a string and its last quote.
    fn pass_string(&mut self) -> Option<()> {
        loop {
            let mark = find(self.0, |byte| matches!(byte, b'"' | b'\\'))?;
            let is_end = self.0[mark] == b'"';
            self.0 = self.0.get(mark + if is_end { 1 } else { 2 }..)?;
            if is_end {
                return Some(());
            }
        }
    }

    /// Return the next value as written.
    pub fn any_value(&mut self) -> Option<&'a [u8]> {
        self.skip_space();
        let begun = self.0;
        match begun.first()? {
            b'"' => self.any_string().map(drop)?,
            b'[' | b'{' => {
                let mut depth = 0_usize;
                self.marks(|byte| {
                    match byte {
                        b'[' | b'{' => depth += 1,
                        b']' | b'}' => depth -= 1,
                        _ => {}
                    }
                    depth > 0
                })?;
            }
            _ => {
                let word = begun.iter().take_while(|byte| !ENDS.contains(byte));
                self.0 = &begun[word.count()..];
            }
        }
        let size = begun.len() - self.0.len();
        (size > 0).then(|| &begun[..size])
    }

    /// Pass each byte outside of strings to `goes_on`, up to one for which it returns false. None if the text
    /// ends before.
    pub fn marks(&mut self, mut goes_on: impl FnMut(u8) -> bool) -> Option<()> {
        loop {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            if *byte == b'"' {
                self.pass_string()?;
            } else if !goes_on(*byte) {
                return Some(());
            }
        }
    }
}

/// Return the index of the first byte for which `is_mark` is true. Many bytes are compared in one
/// instruction, which matters for a transaction of 100 KB.
fn find(text: &[u8], is_mark: impl Fn(u8) -> bool) -> Option<usize> {
    let without = |chunk: &&[u8; CHUNK]| chunk.iter().fold(true, |without, byte| without & !is_mark(*byte));
    let passed = CHUNK * text.as_chunks::<CHUNK>().0.iter().take_while(without).count();
    Some(passed + text[passed..].iter().position(|byte| is_mark(*byte))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_mark_is_found_wherever_it_is() {
        for length in [0, 1, 31, 32, 33, 64, 100] {
            let text = vec![b'a'; length];
            assert_eq!(find(&text, |byte| byte == b'"'), None);
            for index in 0..length {
                let mut text = text.clone();
                text[index..].fill(b'"');
                assert_eq!(find(&text, |byte| byte == b'"'), Some(index));
            }
        }
    }

    #[test]
    fn strings_of_a_size_are_taken_whatever_they_hold() {
        let taken = |text: &'static [u8], size| Text(text).sized(size);
        assert_eq!(taken(br#" "ab" "#, 2), Some(&b"ab"[..]));
        assert_eq!(taken(br#""a"b""#, 3), Some(&br#"a"b"#[..]));
        for size in [0, 1, 3, 4, 5] {
            assert_eq!(taken(br#""ab""#, size), None);
        }
    }

    fn value(text: &str) -> Option<(&str, &str)> {
        let mut text = Text(text.as_bytes());
        let value = text.value(usize::MAX)?;
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
    fn as_many_values_are_taken_as_may_be() {
        for (text, count) in [("1", 1), (r#""[,:{""#, 1), ("[1,[2],{}]", 5), (r#"{"a":[1],"b":null}"#, 6)] {
            assert_eq!(Text(text.as_bytes()).value(count), Some(text.as_bytes()));
            assert_eq!(Text(text.as_bytes()).value(count - 1), None);
        }
    }

    #[test]
    fn deep_values_are_left_alone() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(value(&nested(MAX_DEPTH)).is_some());
        assert!(value(&nested(MAX_DEPTH + 1)).is_none());
        assert!(value(&nested(1_000_000)).is_none());
    }
}
