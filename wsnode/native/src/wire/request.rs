//! JSON-RPC requests without parameters.

use crate::plain::Text;

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
        let (mut identity, mut method) = (None, None);
        let seen = text.members(|text, name| {
            Some(match name {
                b"jsonrpc" => (text.string()? == b"2.0").then_some(Member::Version as u8)?,
                b"id" => {
                    identity = Some(self::identity(text)?);
                    Member::Identity as u8
                }
                b"method" => {
                    method = Some(printable(text)?);
                    Member::Method as u8
                }
                b"params" => {
                    text.take(b'[')?;
                    text.take(b']')?;
                    Member::Parameters as u8
                }
                _ => return None,
            })
        })?;
        text.end()?;
        let has_version = seen & Member::Version as u8 != 0;
        has_version.then_some(Self { identity: identity?, method: method? })
    }
}

/// A string of printable ASCII without escapes.
fn printable<'a>(text: &mut Text<'a>) -> Option<&'a [u8]> {
    text.string_of(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'))
}

fn identity<'a>(text: &mut Text<'a>) -> Option<&'a [u8]> {
    text.skip_space();
    let begun = text.0;
    let size = match begun.first()? {
        b'"' => printable(text)?.len() + 2,
        b'0' => 1,
        b'1'..=b'9' => begun.iter().position(|byte| !byte.is_ascii_digit())?,
        _ => return None,
    };
    let (identity, rest) = begun.split_at(size);
    text.0 = rest;
    Some(identity)
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
            "{\"jsonrpc\":\"2.0\",\"id\":\"\t\",\"method\":\"m\",\"params\":[]}",
            "{\"jsonrpc\":\"2.0\",\"id\":\"\x7f\",\"method\":\"m\",\"params\":[]}",
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
