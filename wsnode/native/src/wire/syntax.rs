//! Syntax check of JSON that builds no values.

use serde_json::value::RawValue;

/// Highest nesting of lists and objects, below the limit of Python's decoder.
const DEEPEST: usize = 900;

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
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => pass_string(&mut bytes),
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn pass_string(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
