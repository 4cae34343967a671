//! JSON text as geth's encoder writes it.

use alloy_primitives::{hex, U256};

/// Write bytes as `"0x…"`, two digits each.
pub fn data(text: &mut Vec<u8>, bytes: &[u8]) {
    text.extend_from_slice(b"\"0x");
    digits(text, bytes);
    text.push(b'"');
}

/// Write a number as `"0x…"` without leading zeros.
pub fn quantity(text: &mut Vec<u8>, number: &U256) {
    let bytes = number.to_be_bytes::<32>();
    let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(31);
    text.extend_from_slice(b"\"0x");
    let start = text.len();
    digits(text, &bytes[first..]);
    if bytes[first] < 16 {
        text.remove(start);
    }
    text.push(b'"');
}

/// Write a number as `"0x…"` without leading zeros.
pub fn small_quantity(text: &mut Vec<u8>, number: u64) {
    quantity(text, &U256::from(number));
}

pub fn decimal(text: &mut Vec<u8>, mut number: u64) {
    let mut buffer = [0u8; 20];
    let mut start = buffer.len();
    loop {
        start -= 1;
        buffer[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return text.extend_from_slice(&buffer[start..]);
        }
    }
}

/// Write a string with its quotes. As in Go, the letters `<`, `>` and `&` are escaped.
pub fn string(text: &mut Vec<u8>, words: &str) {
    let quoted = serde_json::Value::from(words).to_string();
    for byte in quoted.bytes() {
        match byte {
            b'<' | b'>' | b'&' => text.extend_from_slice(format!("\\u00{byte:02x}").as_bytes()),
            other => text.push(other),
        }
    }
}

/// Write `[`, the items by `write`, and `]`.
pub fn list<T>(text: &mut Vec<u8>, items: impl IntoIterator<Item = T>, write: impl FnMut(&mut Vec<u8>, T)) {
    enclosed(text, (b'[', b']'), items, write);
}

/// Write `{`, the items by `write`, and `}`.
pub fn object<T>(text: &mut Vec<u8>, items: impl IntoIterator<Item = T>, write: impl FnMut(&mut Vec<u8>, T)) {
    enclosed(text, (b'{', b'}'), items, write);
}

fn enclosed<T>(
    text: &mut Vec<u8>,
    (open, close): (u8, u8),
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    text.push(open);
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        write(text, item);
    }
    text.push(close);
}

fn digits(text: &mut Vec<u8>, bytes: &[u8]) {
    let start = text.len();
    text.resize(start + 2 * bytes.len(), 0);
    // The slice has exactly the length of the digits, so the encoding cannot fail.
    let _ = hex::encode_to_slice(bytes, &mut text[start..]);
}
