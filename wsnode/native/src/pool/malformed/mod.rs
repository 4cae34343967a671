//! What geth says about bytes that are no transaction.
//!
//! Whether they are one is decided by alloy's decoder, once; only when it refuses does this module look for the reason
//! that clients know. Names of types and members are therefore those of geth's core/types, and the order in which
//! faults are found is that of its rlp package.

mod range;
mod reader;
mod shape;
mod walk;

use super::refuse;
use crate::error::Error;
use crate::evm::chain_spec::ChainSpec;

/// Why `bytes` are no transaction of the chain; `reason` is what is said when geth would take them.
pub fn explain(spec: &ChainSpec, bytes: &[u8], reason: impl std::fmt::Display) -> Error {
    let fault = match bytes {
        [] | [_] if bytes.first().is_none_or(|first| *first < 0x80) => {
            Some("typed transaction too short".into())
        }
        [0 | 5..0x80, ..] => return refuse("type", "transaction type not supported"),
        [3, wrapped @ ..] => shape::of_blobs(wrapped).and_then(|shape| walk::check(wrapped, shape)).err(),
        [1..=4, list @ ..] => walk::check(list, shape::of(bytes[0])).err(),
        list => walk::check(list, shape::of(0)).err(),
    };
    match fault {
        Some(words) => refuse("rlp", words),
        None => range::explain(spec, bytes).unwrap_or_else(|| refuse("rlp", format!("rlp: {reason}"))),
    }
}
