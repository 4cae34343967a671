//! Accounts of a state dump in anvil's format.

use std::collections::BTreeMap;
use std::fmt::Write;

use alloy_primitives::{Address, Bytes, U256};
use serde::de::{Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

#[derive(Debug, serde::Deserialize)]
pub struct DumpedAccount {
    pub nonce: u64,
    balance: DumpNumber,
    code: Bytes,
    storage: BTreeMap<DumpNumber, DumpNumber>,
}

/// State dump. Members other than `accounts` are skipped.
#[derive(Debug, serde::Deserialize)]
struct Dump {
    accounts: BTreeMap<Address, DumpedAccount>,
}

/// Number below 2^256, written as decimal digits in a string, as hex digits after `0x`, or as a JSON number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct DumpNumber(U256);

/// Return the accounts of a dump in JSON, or a text that describes its fault. If an address occurs twice, the
/// last account counts.
pub fn read_dump(text: &[u8]) -> Result<BTreeMap<Address, DumpedAccount>, String> {
    let dump: Dump = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    Ok(dump.accounts)
}

impl DumpedAccount {
    pub fn balance(&self) -> String {
        format!("{:#x}", self.balance.0)
    }

    pub fn code(&self) -> String {
        self.code.to_string()
    }

    /// Return the account's slots as a JSON object from slot to value, each 32 bytes in hex.
    pub fn storage(&self) -> String {
        let mut text = String::with_capacity(2 + 138 * self.storage.len());
        let mut mark = '{';
        for (slot, value) in &self.storage {
            // A write to a string cannot fail.
            let _ = write!(text, "{mark}\"{:#066x}\":\"{:#066x}\"", slot.0, value.0);
            mark = ',';
        }
        if self.storage.is_empty() {
            text.push('{');
        }
        text.push('}');
        text
    }
}

impl<'de> Deserialize<'de> for DumpNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Digits)
    }
}

struct Digits;

impl Visitor<'_> for Digits {
    type Value = DumpNumber;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a number below 2**256, or its digits in a string")
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<DumpNumber, E> {
        Ok(DumpNumber(U256::from(number)))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<DumpNumber, E> {
        let (digits, base) = match text.get(..2) {
            Some("0x" | "0X") => (&text[2..], 16),
            _ => (text, 10),
        };
        let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let number = is_plain.then(|| U256::from_str_radix(digits, base).ok()).flatten();
        number.map(DumpNumber).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(account: &str) -> Result<DumpedAccount, String> {
        let text = format!(r#"{{"accounts":{{"{:#042x}":{account}}},"blocks":[[[]],1]}}"#, 5);
        Ok(read_dump(text.as_bytes())?.into_values().next().unwrap())
    }

    #[test]
    fn numbers_are_written_in_many_ways() {
        let storage = r#"{"5":"0x0a","0x06":"10","0x000000000000000000000000000000000000000000000000000000000000000005":7}"#;
        let account =
            read(&format!(r#"{{"nonce":3,"balance":"0x00ff","code":"0x6001","storage":{storage}}}"#));
        let account = account.unwrap();
        assert_eq!((account.nonce, account.balance(), account.code()), (3, "0xff".into(), "0x6001".into()));
        // If a slot occurs in two spellings, the last value counts.
        let word = |number: u64| format!("\"{number:#066x}\"");
        let expected = format!("{{{}:{},{}:{}}}", word(5), word(7), word(6), word(10));
        assert_eq!(account.storage(), expected);
    }

    #[test]
    fn what_is_no_account_is_refused() {
        assert_eq!(read(r#"{"nonce":0,"balance":"0","code":"0x","storage":{}}"#).unwrap().storage(), "{}");
        for account in [
            "{}",
            r#"{"nonce":-1,"balance":"0","code":"0x","storage":{}}"#,
            r#"{"nonce":0,"balance":"","code":"0x","storage":{}}"#,
            r#"{"nonce":0,"balance":"0x","code":"0x","storage":{}}"#,
            r#"{"nonce":0,"balance":"1_0","code":"0x","storage":{}}"#,
            r#"{"nonce":0,"balance":"-1","code":"0x","storage":{}}"#,
            r#"{"nonce":0,"balance":"0x10000000000000000000000000000000000000000000000000000000000000000","code":"0x","storage":{}}"#,
            r#"{"nonce":0,"balance":"0","code":"0x1","storage":{}}"#,
            r#"{"nonce":0,"balance":"0","code":"0x","storage":{"x":"0"}}"#,
        ] {
            assert!(read(account).is_err(), "{account}");
        }
    }
}
