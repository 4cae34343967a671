//! Strict reader of a payload's JSON. It refuses unknown members, numbers with leading zeros, and a member of
//! a later version without all members of the earlier versions.
//!
//! Source: execution-apis, src/engine/{paris,shanghai,cancun,amsterdam}.md, and common.md for the encoding of
//! values.

use std::fmt;
use std::marker::PhantomData;

use alloy_eips::eip4895;
use alloy_primitives::{hex, Address, Bytes, FixedBytes, B256, U256};
use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// Version of the structure `ExecutionPayload` of the Engine API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    Paris = 1,
    Shanghai,
    Cancun,
    Amsterdam,
}

/// Members of a payload as sent.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PayloadMembers {
    pub parent_hash: Fixed<32>,
    pub fee_recipient: Fixed<20>,
    pub state_root: Fixed<32>,
    pub receipts_root: Fixed<32>,
    pub logs_bloom: Fixed<256>,
    pub prev_randao: Fixed<32>,
    pub block_number: Quantity<u64>,
    pub gas_limit: Quantity<u64>,
    pub gas_used: Quantity<u64>,
    pub timestamp: Quantity<u64>,
    pub extra_data: Raw,
    pub base_fee_per_gas: Quantity<U256>,
    pub block_hash: Fixed<32>,
    pub transactions: Vec<Raw>,
    pub withdrawals: Option<Vec<Withdrawal>>,
    pub blob_gas_used: Option<Quantity<u64>>,
    pub excess_blob_gas: Option<Quantity<u64>>,
    pub block_access_list: Option<Raw>,
    pub slot_number: Option<Quantity<u64>>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Withdrawal {
    index: Quantity<u64>,
    validator_index: Quantity<u64>,
    address: Fixed<20>,
    amount: Quantity<u64>,
}

impl PayloadMembers {
    /// Return the payload in `text` and its version, or a text that describes the fault of its form.
    pub fn read(text: &[u8]) -> Result<(Self, Version), String> {
        let form: Self = serde_json::from_slice(text).map_err(|error| words(&error))?;
        let version = form.version()?;
        Ok((form, version))
    }

    fn version(&self) -> Result<Version, String> {
        // Each version also has the members of the versions before it.
        let versions: [(Version, &[(&str, bool)]); 3] = [
            (Version::Shanghai, &[("withdrawals", self.withdrawals.is_some())]),
            (
                Version::Cancun,
                &[
                    ("blobGasUsed", self.blob_gas_used.is_some()),
                    ("excessBlobGas", self.excess_blob_gas.is_some()),
                ],
            ),
            (
                Version::Amsterdam,
                &[
                    ("blockAccessList", self.block_access_list.is_some()),
                    ("slotNumber", self.slot_number.is_some()),
                ],
            ),
        ];
        let is_begun = |(_, members): &&(Version, &[(&str, bool)])| members.iter().any(|member| member.1);
        let newest = versions.iter().rev().find(is_begun).map_or(Version::Paris, |row| row.0);
        let needed = versions.iter().filter(|row| row.0 <= newest).flat_map(|row| row.1);
        match needed.into_iter().find(|member| !member.1) {
            Some((name, _)) => Err(format!("missing field `{name}`")),
            None => Ok(newest),
        }
    }
}

/// Return serde's message without line and column: the caller may never have seen the text as a whole.
fn words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(words, _)| words.to_owned())
}

impl From<&Withdrawal> for eip4895::Withdrawal {
    fn from(form: &Withdrawal) -> Self {
        Self {
            index: form.index.0,
            validator_index: form.validator_index.0,
            address: form.address.address(),
            amount: form.amount.0,
        }
    }
}

/// Value of type `DATA` with N bytes.
#[derive(Debug)]
pub struct Fixed<const N: usize>(pub FixedBytes<N>);

impl Fixed<20> {
    pub fn address(&self) -> Address {
        Address(self.0)
    }
}

impl Fixed<32> {
    pub fn hash(&self) -> B256 {
        self.0
    }
}

/// Value of type `DATA` of any length.
#[derive(Debug)]
pub struct Raw(pub Bytes);

/// Value of type `QUANTITY`.
#[derive(Debug)]
pub struct Quantity<T>(pub T);

/// Visitor of a JSON string that holds a T.
struct TextVisitor<T>(PhantomData<T>);

trait FromText: Sized {
    const EXPECTED: &'static str;

    fn from_text(text: &str) -> Option<Self>;
}

impl<T: FromText> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(T::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::from_text(text).ok_or_else(|| E::custom(format_args!("a value is not {}", T::EXPECTED)))
    }
}

macro_rules! read_from_text {
    ($([$($generic:tt)*] $type:ty, $expected:literal, $read:expr;)*) => {$(
        impl<$($generic)*> FromText for $type {
            const EXPECTED: &'static str = $expected;

            fn from_text(text: &str) -> Option<Self> {
                $read(text)
            }
        }

        impl<'de, $($generic)*> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(TextVisitor(PhantomData))
            }
        }
    )*};
}

read_from_text! {
    [const N: usize] Fixed<N>, "bytes of the length that the member has, in hexadecimal with a 0x prefix", |text| {
        let mut bytes = [0; N];
        hex::decode_to_slice(digits(text)?, &mut bytes).ok()?;
        Some(Self(bytes.into()))
    };
    [] Raw, "bytes in hexadecimal with a 0x prefix", |text| {
        hex::decode(digits(text)?).ok().map(|bytes| Self(bytes.into()))
    };
    [] Quantity<u64>, "a number of 64 bits in hexadecimal, without leading zeros", |text| {
        u64::from_str_radix(number(text)?, 16).ok().map(Self)
    };
    [] Quantity<U256>, "a number of 256 bits in hexadecimal, without leading zeros", |text| {
        U256::from_str_radix(number(text)?, 16).ok().map(Self)
    };
}

fn digits(text: &str) -> Option<&str> {
    // `hex::decode` would skip a second prefix.
    text.strip_prefix("0x").filter(|digits| !digits.starts_with("0x"))
}

fn number(text: &str) -> Option<&str> {
    let is_plain = |digits: &&str| {
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()) && (*digits == "0" || !digits.starts_with('0'))
    };
    digits(text).filter(is_plain).filter(|digits| !digits.is_empty())
}
