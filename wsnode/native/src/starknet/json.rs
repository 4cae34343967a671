//! Decoding of field elements from JSON, and the path of the value at which a decoder stopped.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use starknet_types_core::felt::Felt;

/// The field's prime, big-endian: 2^251 + 17 * 2^192 + 1.
const PRIME: [u8; 32] = {
    let mut prime = [0; 32];
    (prime[0], prime[7], prime[31]) = (8, 17, 1);
    prime
};

/// Return the path of the value at which the decoder of `text` stopped; empty if it is the whole text.
///
/// The error has only a line and a column, so the text up to them is read again.
pub fn path_of(error: &serde_json::Error, text: &[u8]) -> String {
    let line_start =
        text.split_inclusive(|byte| *byte == b'\n').take(error.line().saturating_sub(1)).map(<[u8]>::len);
    let stop = (line_start.sum::<usize>() + error.column()).min(text.len());
    path_at(&text[..stop])
}

/// Return the path of the innermost value at the end of a truncated JSON text, as in `transactions[3].receipt`.
fn path_at(text: &[u8]) -> String {
    let mut steps: Vec<PathStep<'_>> = Vec::new();
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match (byte, steps.last_mut()) {
            (b'"', last) => {
                let end = string_end(text, at + 1);
                if let Some(PathStep::Member { name, is_name_next: true }) = last {
                    *name = &text[at + 1..end.min(text.len())];
                }
                at = end;
            }
            (b'{', _) => steps.push(PathStep::Member { name: b"", is_name_next: true }),
            (b'[', _) => steps.push(PathStep::Item(0)),
            (b':', Some(PathStep::Member { is_name_next, .. })) => *is_name_next = false,
            (b',', Some(PathStep::Member { is_name_next, .. })) => *is_name_next = true,
            (b',', Some(PathStep::Item(index))) => *index += 1,
            // If a member is missing, the decoder stops behind the end of the object, so the path is that of
            // the object.
            (b'}' | b']', _) => drop(steps.pop()),
            _ => {}
        }
        at += 1;
    }
    let path = steps.iter().map(PathStep::to_string).collect::<String>();
    path.trim_start_matches('.').to_owned()
}

enum PathStep<'a> {
    Member { name: &'a [u8], is_name_next: bool },
    Item(usize),
}

impl fmt::Display for PathStep<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member { name: b"", .. } => Ok(()),
            Self::Member { name, .. } => write!(formatter, ".{}", name.escape_ascii()),
            Self::Item(index) => write!(formatter, "[{index}]"),
        }
    }
}

/// Return the index of the quote at the end of a string, whose content begins at `at`.
///
/// Without such a quote the index is at or behind the end of the text.
fn string_end(text: &[u8], mut at: usize) -> usize {
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

/// Return the number of 1 to 64 hexadecimal digits after 0x, as 32 bytes big-endian; none for any other text.
fn hex_number(text: &str) -> Option<[u8; 32]> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?.as_bytes();
    if digits.is_empty() || digits.len() > 64 {
        return None;
    }
    let mut number = [0; 32];
    for (place, digit) in digits.iter().rev().enumerate() {
        let nibble = (*digit as char).to_digit(16)? as u8;
        number[31 - place / 2] |= nibble << (4 * (place % 2));
    }
    Some(number)
}

/// Return the field element of a hexadecimal text; none if it is no number, or not below the prime.
fn parse_felt(text: &str) -> Option<Felt> {
    hex_number(text).filter(|number| *number < PRIME).map(|number| Felt::from_bytes_be(&number))
}

struct FeltText;

impl Visitor<'_> for FeltText {
    type Value = Felt;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a felt: 1 to 64 hexadecimal digits after 0x, below 2^251 + 17*2^192 + 1")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Felt, E> {
        parse_felt(text).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }
}

impl<'de> DeserializeSeed<'de> for FeltText {
    type Value = Felt;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Felt, D::Error> {
        source.deserialize_str(self)
    }
}

struct FeltTexts;

impl<'de> Visitor<'de> for FeltTexts {
    type Value = Vec<Felt>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of felts")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<Felt>, A::Error> {
        let mut felts = Vec::new();
        while let Some(felt) = items.next_element_seed(FeltText)? {
            felts.push(felt);
        }
        Ok(felts)
    }
}

/// Visitor of a value or null.
struct Maybe<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for Maybe<V> {
    type Value = Option<V::Value>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(formatter)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, source: D) -> Result<Self::Value, D::Error> {
        source.deserialize_any(self.0).map(Some)
    }
}

pub fn felt<'de, D: Deserializer<'de>>(source: D) -> Result<Felt, D::Error> {
    source.deserialize_str(FeltText)
}

pub fn felts<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<Felt>, D::Error> {
    source.deserialize_seq(FeltTexts)
}

pub fn maybe_felt<'de, D: Deserializer<'de>>(source: D) -> Result<Option<Felt>, D::Error> {
    source.deserialize_option(Maybe(FeltText))
}

pub fn maybe_felts<'de, D: Deserializer<'de>>(source: D) -> Result<Option<Vec<Felt>>, D::Error> {
    source.deserialize_option(Maybe(FeltTexts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prime_is_no_felt_and_what_is_below_it_is() {
        let highest = format!("{:#x}", Felt::MAX);
        assert_eq!(parse_felt(&highest), Some(Felt::MAX));
        assert_eq!(parse_felt(&format!("{}1", &highest[..highest.len() - 1])), None);
        assert_eq!(parse_felt("0x000aB"), Some(Felt::from(0xab)));
        let padded = format!("0x{}", "0".repeat(65));
        for text in ["", "0x", "1", "0x_1", "0x 1", "-0x1", "0xg", &padded] {
            assert_eq!(parse_felt(text), None, "{text}");
        }
    }

    #[test]
    fn a_path_leads_to_the_value_that_is_cut_off() {
        let text = br#"{"a":{"b":[1,{"c":"],\"}"},[2,"x"#;
        assert_eq!(path_at(text), "a.b[2][1]");
        assert_eq!(path_at(&text[..text.len() - 1]), "a.b[2][1]");
        assert_eq!(path_at(br#"{"a":1,"b":[{}"#), "b[0]");
        assert_eq!(path_at(b"["), "[0]");
        assert_eq!(path_at(b"}]"), "");
    }
}
