//! Faults, positions and number of the values in a text. No value is built.

use std::ops::Range;

use serde_json::value::RawValue;

use crate::json::Text;

/// Highest nesting of lists and objects, below the limit of Python's decoder.
const DEEPEST: usize = 900;

/// Members of a request whose values the outline keeps.
const READ: [&str; 3] = ["jsonrpc", "method", "id"];

/// Return the fault of a text that is no JSON in UTF-8 or nested too deeply, or None. An escape for half a
/// character is no fault.
pub fn fault(text: &[u8]) -> Option<String> {
    match serde_json::from_slice::<&RawValue>(text) {
        Err(error) => Some(error.to_string()),
        Ok(_) => (depth(text) > DEEPEST).then(|| "exceeded max depth".to_owned()),
    }
}

/// Return the nesting of a JSON text.
fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    Text(text).marks(|byte| {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
        true
    });
    deepest
}

/// Return the range of the next value of `text`, whose end `rest` is.
fn value(text: &[u8], rest: &mut Text<'_>) -> Option<Range<usize>> {
    let size = rest.any_value()?.len();
    let end = text.len() - rest.0.len();
    Some(end - size..end)
}

/// Return the ranges of the first `most` items of an array, or an empty list if the text is no array.
pub fn items(text: &[u8], most: usize) -> Vec<Range<usize>> {
    let (mut rest, mut found) = (Text(text), Vec::new());
    let mut next = rest.take(b'[');
    while next.is_some() && found.len() < most {
        let Some(item) = value(text, &mut rest) else {
            break;
        };
        found.push(item);
        next = rest.take(b',');
    }
    found
}

/// Return the range of the value of an object's last member `id`. The name may contain escapes.
pub fn identity(text: &[u8]) -> Option<Range<usize>> {
    let (mut rest, mut found) = (Text(text), None);
    let mut next = rest.take(b'{');
    while next.is_some() {
        let Some((name, value)) = member(text, &mut rest) else {
            break;
        };
        if is_named(name, "id") {
            found = Some(value);
        }
        next = rest.take(b',');
    }
    found
}

fn member<'a>(text: &[u8], rest: &mut Text<'a>) -> Option<(&'a [u8], Range<usize>)> {
    let name = rest.any_string()?;
    rest.take(b':')?;
    Some((name, value(text, rest)?))
}

/// Return whether a name between quotes is `word`, of letters and digits. Some of them may be escaped.
fn is_named(name: &[u8], word: &str) -> bool {
    let mut rest = name;
    word.bytes().all(|letter| is_next(&mut rest, letter)) && rest.is_empty()
}

/// Skip the next letter of a name, and return whether it is `letter`, escaped or not.
fn is_next(rest: &mut &[u8], letter: u8) -> bool {
    let escaped = format!("\\u00{letter:02x}");
    let (length, is_it) = match rest.get(..escaped.len()) {
        Some(start) if start.eq_ignore_ascii_case(escaped.as_bytes()) && start[1] == b'u' => (6, true),
        _ => (1, rest.first() == Some(&letter)),
    };
    *rest = rest.get(length..).unwrap_or_default();
    is_it
}

/// Return the object with `0` for the value of each member but `jsonrpc`, `method` and `id`, and the range of
/// the last `params`. None if the text is no object.
pub fn outline(text: &[u8]) -> Option<(Vec<u8>, Option<Range<usize>>)> {
    let mut rest = Text(text);
    rest.take(b'{')?;
    let (mut outline, mut params, mut copied) = (Vec::new(), None, 0);
    while let Some((name, value)) = member(text, &mut rest) {
        if is_named(name, "params") {
            params = Some(value.clone());
        }
        if !READ.iter().any(|word| is_named(name, word)) {
            outline.extend_from_slice(&text[copied..value.start]);
            outline.push(b'0');
            copied = value.end;
        }
        if rest.take(b',').is_none() {
            break;
        }
    }
    outline.extend_from_slice(&text[copied..]);
    Some((outline, params))
}

/// Return an upper bound of the number of values in a text: at most one more than twice the number.
pub fn count_values(text: &[u8]) -> usize {
    let mut count = 1;
    Text(text).marks(|byte| {
        count += usize::from(matches!(byte, b',' | b':' | b'[' | b'{'));
        true
    });
    count
}

/// Return the text with `\ufffd` for each escape of half a character, or None if there is none.
pub fn without_lone_surrogates(text: &[u8]) -> Option<Vec<u8>> {
    const REPLACEMENT: &[u8; 6] = br"\ufffd";
    let mut repaired: Option<Vec<u8>> = None;
    let mut position = 0;
    while let Some(ahead) = text.get(position..).and_then(|rest| rest.iter().position(|byte| *byte == b'\\'))
    {
        position += ahead;
        position += match (surrogate(text, position), surrogate(text, position + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(_), _) => {
                let text = repaired.get_or_insert_with(|| text.to_vec());
                text[position..position + 6].copy_from_slice(REPLACEMENT);
                6
            }
            (None, _) => 2,
        };
    }
    repaired
}

/// Return the half of a character for which the escape at `position` stands, or None.
fn surrogate(text: &[u8], position: usize) -> Option<u16> {
    let digits = text.get(position..position + 6)?.strip_prefix(br"\u")?;
    let digits = digits.iter().all(u8::is_ascii_hexdigit).then_some(digits)?;
    let half = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (0xd800..=0xdfff).contains(&half).then_some(half)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str, most: usize) -> Vec<&str> {
        items(text.as_bytes(), most).into_iter().map(|item| &text[item]).collect()
    }

    #[test]
    fn items_are_found_where_they_lie() {
        assert_eq!(
            parts(r#" [1 , "a,]\"" ,[2,[3]], {"a":[4]} ,null]"#, 9),
            ["1", r#""a,]\"""#, "[2,[3]]", r#"{"a":[4]}"#, "null"]
        );
        assert_eq!(parts("[]", 9), [""; 0]);
        assert_eq!(parts("[1,2,3]", 2), ["1", "2"]);
        for text in ["", "{}", "[", "[,", "[\"", "[\"\\", "[[", "[1", "]", "[}"] {
            assert!(parts(text, 9).len() < 2, "{text}");
        }
    }

    #[test]
    fn the_last_id_counts() {
        let found = |text: &str| identity(text.as_bytes()).map(|range| text[range].to_owned());
        assert_eq!(found(r#"{"id":1}"#).as_deref(), Some("1"));
        assert_eq!(
            found(r#" { "a" : {"id":2} , "\u0069\u0064" : [ 1 ] ,"id2":3}"#).as_deref(),
            Some("[ 1 ]")
        );
        assert_eq!(found(r#"{"id":1,"i\u0064":"\ud800"}"#).as_deref(), Some(r#""\ud800""#));
        for text in ["", "{}", r#"{"Id":1}"#, r#"[{"id":1}]"#, r#"{"id""#, r#"{"id":"#, r#"{"\\u0069d":1}"#] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn an_outline_has_no_values_but_those_of_a_request() {
        let found = |text: &str| {
            let (outline, params) = outline(text.as_bytes())?;
            Some((String::from_utf8(outline).unwrap(), params.map_or("", |range| &text[range]).to_owned()))
        };
        for (text, expected, params) in [
            ("{}", "{}", ""),
            (r#"{"id":[1],"params":[2] }"#, r#"{"id":[1],"params":0 }"#, "[2]"),
            (
                r#" { "params" : {"id":2} ,"x": "}","method":"m"} "#,
                r#" { "params" : 0 ,"x": 0,"method":"m"} "#,
                r#"{"id":2}"#,
            ),
            (
                r#"{"params":1,"p\u0061rams":[3],"\u0069d":4}"#,
                r#"{"params":0,"p\u0061rams":0,"\u0069d":4}"#,
                "[3]",
            ),
            (r#"{"jsonrpc":"2.0","Params":[]}"#, r#"{"jsonrpc":"2.0","Params":0}"#, ""),
        ] {
            assert_eq!(found(text), Some((expected.to_owned(), params.to_owned())), "{text}");
        }
        for text in ["", "[]", "1", r#""{""#] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn values_are_counted_but_not_what_strings_hold() {
        for (text, count) in [("1", 1), (r#""[,:{""#, 1), ("[1,2,3]", 4), (r#"{"a":[1],"b":"\",,"}"#, 6)] {
            assert_eq!(count_values(text.as_bytes()), count, "{text}");
        }
        assert_eq!(count_values(b"\"\\"), 1);
    }

    #[test]
    fn halves_of_characters_are_replaced_unless_they_meet() {
        let repaired = |text: &str| {
            without_lone_surrogates(text.as_bytes()).map(|text| String::from_utf8(text).unwrap())
        };
        for text in ["", r"\", r"\u", r"\\ud800", r"\u00e9", r"\ud83d\ude00", r"\ud8", r"\u+800"] {
            assert_eq!(repaired(text), None, "{text}");
        }
        for (text, expected) in [
            (r"\ud800", r"\ufffd"),
            (r"a\\\uDC00b", r"a\\\ufffdb"),
            (r"\ud83d\ud83d\ude00\ude00", r"\ufffd\ud83d\ude00\ufffd"),
        ] {
            assert_eq!(repaired(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn json_has_no_fault() {
        for text in ["1", " [1.5e999, -0, \"\u{e9}\\ud800\", null]\n", r#"{"a":{},"a":["]"]}"#, r#""[[\"[""#]
        {
            assert_eq!(fault(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn all_else_has_one() {
        for text in
            ["", "[", "[1,]", "01", "1.", "nul", r#""\x""#, "\"\n\"", "{1:2}", "1 2", "[1]]", "+1", "NaN"]
        {
            assert!(fault(text.as_bytes()).is_some(), "{text}");
        }
        assert!(fault(b"\"\xff\"").is_some());
    }

    #[test]
    fn a_text_has_a_depth() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(fault(nested(DEEPEST).as_bytes()), None);
        assert_eq!(fault(nested(DEEPEST + 1).as_bytes()).as_deref(), Some("exceeded max depth"));
        assert!(fault(nested(5_000_000).as_bytes()).is_some());
        assert_eq!(fault("[{},".repeat(1_000).as_bytes()).as_deref().map(|text| &text[..3]), Some("EOF"));
    }
}
