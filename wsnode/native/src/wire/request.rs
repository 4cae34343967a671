//! JSON-RPC requests without parameters.

/// Member of a request, as a bit.
#[derive(Clone, Copy)]
enum Member {
    Version = 1,
    Identity = 2,
    Method = 4,
    Parameters = 8,
}

/// A request for a method without parameters.
#[derive(Debug, PartialEq, Eq)]
pub struct Bare<'a> {
    /// The id as it was sent: a whole number or a string.
    pub identity: &'a [u8],
    pub method: &'a [u8],
}

impl<'a> Bare<'a> {
    /// The request that `text` is; nothing if any part of it is unusual, be it right or wrong.
    ///
    /// Its members are the four of the specification, each once, with `[]` for parameters or none. Strings
    /// have no escapes and are ASCII.
    pub fn read(text: &'a [u8]) -> Option<Self> {
        let mut text = Text(text);
        let (mut seen, mut identity, mut method) = (0, None, None);
        text.take(b'{')?;
        loop {
            let member = match text.string()? {
                b"jsonrpc" => Member::Version,
                b"id" => Member::Identity,
                b"method" => Member::Method,
                b"params" => Member::Parameters,
                _ => return None,
            };
            if seen & member as u8 != 0 {
                return None;
            }
            seen |= member as u8;
            text.take(b':')?;
            match member {
                Member::Version => (text.string()? == b"2.0").then_some(())?,
                Member::Identity => identity = Some(text.identity()?),
                Member::Method => method = Some(text.string()?),
                Member::Parameters => {
                    text.take(b'[')?;
                    text.take(b']')?;
                }
            }
            if text.take(b',').is_none() {
                break;
            }
        }
        text.take(b'}')?;
        text.skip_space();
        let is_whole = text.0.is_empty() && seen & Member::Version as u8 != 0;
        is_whole.then_some(Self { identity: identity?, method: method? })
    }
}

/// What has not been read.
struct Text<'a>(&'a [u8]);

impl<'a> Text<'a> {
    fn skip_space(&mut self) {
        while let [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = self.0 {
            self.0 = rest;
        }
    }

    fn take(&mut self, wanted: u8) -> Option<()> {
        self.skip_space();
        self.0 = self.0.strip_prefix(&[wanted])?;
        Some(())
    }

    fn split(&mut self, at: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(at);
        self.0 = rest;
        taken
    }

    /// A string's content.
    fn string(&mut self) -> Option<&'a [u8]> {
        self.take(b'"')?;
        let size =
            self.0.iter().position(|byte| !matches!(byte, b' '..=b'~') || matches!(byte, b'"' | b'\\'))?;
        let content = self.split(size);
        self.0 = self.0.strip_prefix(b"\"")?;
        Some(content)
    }

    fn identity(&mut self) -> Option<&'a [u8]> {
        self.skip_space();
        let begun = self.0;
        let size = match begun.first()? {
            b'"' => self.string()?.len() + 2,
            b'0' => 1,
            b'1'..=b'9' => begun.iter().position(|byte| !byte.is_ascii_digit())?,
            _ => return None,
        };
        self.0 = begun;
        Some(self.split(size))
    }
}

#[cfg(test)]
mod tests {
    use super::Bare;

    fn read(text: &str) -> Option<(&str, &str)> {
        let bare = Bare::read(text.as_bytes())?;
        Some((std::str::from_utf8(bare.identity).unwrap(), std::str::from_utf8(bare.method).unwrap()))
    }

    #[test]
    fn usual_requests_are_read_with_their_ids_as_sent() {
        for (text, identity) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[]}"#, "1"),
            (r#"{"jsonrpc": "2.0", "method": "m", "params": [], "id": 0}"#, "0"),
            ("\t{ \"method\":\"m\" ,\r\n\"id\" : \"a-1 \" , \"jsonrpc\":\"2.0\" } ", "\"a-1 \""),
            (
                r#"{"id":123456789012345678901234567890,"method":"m","params":[ ],"jsonrpc":"2.0"}"#,
                "123456789012345678901234567890",
            ),
            (r#"{"id":"","method":"m","jsonrpc":"2.0"}"#, r#""""#),
        ] {
            assert_eq!(read(text), Some((identity, "m")), "{text}");
        }
    }

    #[test]
    fn all_else_is_left_alone() {
        for text in [
            "",
            "{}",
            r#"{"jsonrpc":"2.0","method":"m","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":1,"params":[]}"#,
            r#"{"id":1,"method":"m","params":[]}"#,
            r#"{"jsonrpc":"2.1","id":1,"method":"m","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":01,"method":"m","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":1.0,"method":"m","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":-1,"method":"m","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"m","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":"\u0031","method":"m","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":"é","method":"m","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":null}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[],}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[],"more":0}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[]"#,
            r#"[{"jsonrpc":"2.0","id":1,"method":"m","params":[]}]"#,
            r#"{"jsonrpc":"2.0","id":1"#,
            r#"{"jsonrpc":"2.0","id":"1"#,
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
