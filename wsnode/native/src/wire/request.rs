//! JSON-RPC requests, with parameters and id as text.

use crate::json::Text;

/// Member of a request, as a bit.
#[derive(Clone, Copy)]
enum RequestMember {
    Version = 1,
    Identity = 2,
    Method = 4,
    Parameters = 8,
}

/// Request with its parts as sent.
#[derive(Debug, PartialEq, Eq)]
pub struct RequestParts<'a> {
    /// Whole number or string, or empty for a notification.
    pub identity: &'a [u8],
    pub method: &'a str,
    /// Parameters, or empty if there are none.
    pub params: &'a [u8],
}

impl<'a> RequestParts<'a> {
    /// Return the request in `text`. None if any part of it is unusual, valid or not.
    ///
    /// Its members must be the four of the specification, each once. All is ASCII, and strings have no
    /// escapes.
    pub fn read(text: &'a [u8]) -> Option<Self> {
        Self::read_short(text, usize::MAX)
    }

    /// Return the request as `read` does. None also if its parameters hold more than `most` values.
    pub fn read_short(text: &'a [u8], most: usize) -> Option<Self> {
        let mut text = Text(text);
        let request = Self::next(&mut text, most)?;
        text.end()?;
        Some(request)
    }

    /// Return the requests of the batch in `text` as `read` does, if there are at most `most`.
    pub fn read_batch(text: &'a [u8], most: usize) -> Option<Vec<Self>> {
        let mut text = Text(text);
        let mut left = most;
        text.take(b'[')?;
        let requests = text.items(|text| {
            left = left.checked_sub(1)?;
            Self::next(text, usize::MAX)
        })?;
        text.end()?;
        Some(requests)
    }

    fn next(text: &mut Text<'a>, most_values: usize) -> Option<Self> {
        let (mut identity, mut method, mut params): (&[u8], _, &[u8]) = (b"", None, b"");
        let seen = text.members(|text, name| {
            Some(match name {
                b"jsonrpc" => (text.string()? == b"2.0").then_some(RequestMember::Version as u8)?,
                b"id" => {
                    identity = self::identity(text)?;
                    RequestMember::Identity as u8
                }
                b"method" => {
                    method = Some(std::str::from_utf8(text.printable()?).ok()?);
                    RequestMember::Method as u8
                }
                b"params" => {
                    params = text.value(most_values)?;
                    RequestMember::Parameters as u8
                }
                _ => return None,
            })
        })?;
        let has_version = seen & RequestMember::Version as u8 != 0;
        has_version.then_some(Self { identity, method: method?, params })
    }

    /// Return whether it is a call without parameters.
    pub fn is_bare(&self) -> bool {
        let list = self.params.strip_prefix(b"[").and_then(|list| list.strip_suffix(b"]"));
        !self.identity.is_empty() && list.unwrap_or(self.params).trim_ascii().is_empty()
    }
}

fn identity<'a>(text: &mut Text<'a>) -> Option<&'a [u8]> {
    text.skip_space();
    match text.0.first()? {
        b'"' | b'0'..=b'9' => text.value(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::RequestParts;

    fn text_of(bytes: &[u8]) -> &str {
        std::str::from_utf8(bytes).unwrap()
    }

    fn parts<'a>(request: &RequestParts<'a>) -> (&'a str, &'a str, &'a str) {
        (text_of(request.identity), request.method, text_of(request.params))
    }

    fn read(message: &str) -> Option<(&str, &str, &str)> {
        RequestParts::read(message.as_bytes()).as_ref().map(parts)
    }

    #[test]
    fn usual_requests_are_read_with_their_ids_and_parameters_as_sent() {
        for (text, identity, params) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[]}"#, "1", "[]"),
            (
                r#"{"jsonrpc": "2.0", "method": "m", "params": [ 1, {"a":[]} ], "id": 0}"#,
                "0",
                r#"[ 1, {"a":[]} ]"#,
            ),
            ("\t{ \"method\":\"m\" ,\r\n\"id\" : \"a-1 \" , \"jsonrpc\":\"2.0\" } ", "\"a-1 \"", ""),
            (
                r#"{"id":123456789012345678901234567890,"method":"m","params": { } ,"jsonrpc":"2.0"}"#,
                "123456789012345678901234567890",
                "{ }",
            ),
            (r#"{"id":"","method":"m","jsonrpc":"2.0","params":null}"#, r#""""#, "null"),
            (r#"{"method":"m","jsonrpc":"2.0"}"#, "", ""),
        ] {
            assert_eq!(read(text), Some((identity, "m", params)), "{text}");
        }
    }

    #[test]
    fn calls_without_parameters_are_bare() {
        for (rest, is_bare) in [
            (r#","id":1"#, true),
            (r#","id":"","params":[]"#, true),
            (r#","id":1,"params":[ ]"#, true),
            (r#","id":1,"params":[0]"#, false),
            (r#","id":1,"params":{}"#, false),
            (r#","id":1,"params":null"#, false),
            ("", false),
        ] {
            let text = format!(r#"{{"jsonrpc":"2.0","method":"m"{rest}}}"#);
            assert_eq!(RequestParts::read(text.as_bytes()).unwrap().is_bare(), is_bare, "{text}");
        }
    }

    #[test]
    fn batches_are_read_whole_or_not_at_all() {
        let read = |text: &str| {
            let requests = RequestParts::read_batch(text.as_bytes(), 3)?;
            Some(requests.iter().map(|each| text_of(each.identity)).collect::<Vec<_>>().join(" "))
        };
        let item = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
        let joined = |ids: &[&str]| {
            format!(" [ {} ]\n", ids.iter().map(|id| item(id)).collect::<Vec<_>>().join(" , "))
        };
        assert_eq!(read("[]").as_deref(), Some(""));
        assert_eq!(read(&joined(&["1", "\"a\"", "3"])).as_deref(), Some("1 \"a\" 3"));
        assert_eq!(read(&joined(&["1", "null"])), None);
        assert_eq!(read(&joined(&["1", "2", "3", "4"])), None);
        for text in
            ["", "[", "[]]", "[1]", &item("1"), &format!("[{}", item("1")), &format!("[{},]", item("1"))]
        {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn all_else_is_left_alone() {
        for text in [
            "",
            "{}",
            r#"{"jsonrpc":"2.0","id":1,"params":[]}"#,
            r#"{"id":1,"method":"m","params":[]}"#,
            r#"{"jsonrpc":"2.1","id":1,"method":"m","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":01,"method":"m","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":1.0,"method":"m","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":-1,"method":"m","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"m","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":[],"method":"m","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":"\u0031","method":"m","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":"é","method":"m","params":[]}"#,
            "{\"jsonrpc\":\"2.0\",\"id\":\"\t\",\"method\":\"m\",\"params\":[]}",
            "{\"jsonrpc\":\"2.0\",\"id\":\"\x7f\",\"method\":\"m\",\"params\":[]}",
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[1.5]}"#,
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
