//! Numbers in genesis.json: JSON numbers, decimal strings or hexadecimal strings.

use alloy_primitives::U256;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::Error;

/// Return the number in a member of genesis.json.
pub fn parse_u256(name: &str, raw: &RawValue) -> Result<U256, Error> {
    let text = raw.get().trim().trim_matches('"');
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some("") => Ok(U256::ZERO),
        Some(digits) => U256::from_str_radix(digits, 16),
        None => U256::from_str_radix(text, 10),
    };
    parsed.map_err(|_| wrong(name, "a number", raw))
}

/// Return the number below 2^64 in a member of genesis.json.
pub fn parse_u64(name: &str, raw: &RawValue) -> Result<u64, Error> {
    parse_u256(name, raw)?.try_into().map_err(|_| wrong(name, "a number below 2**64", raw))
}

/// Return the value in a member of genesis.json, in the JSON notation of its type.
pub fn parse<'a, T: Deserialize<'a>>(name: &str, raw: &'a RawValue) -> Result<T, Error> {
    serde_json::from_str(raw.get())
        .map_err(|reason| Error::InvalidGenesis(format!("genesis: {name}: {reason}")))
}

fn wrong(name: &str, wanted: &str, raw: &RawValue) -> Error {
    let found: String = raw.get().chars().filter(|letter| !letter.is_control()).take(80).collect();
    Error::InvalidGenesis(format!("genesis: {name} is {found}, expected {wanted}"))
}
