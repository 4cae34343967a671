//! Reasons why bytes are no transaction, in geth's words.
//!
//! alloy's decoder alone decides whether bytes are a transaction. Only after its refusal does this module
//! search for a type or for values that are impossible on the chain. For all other bytes the reason is
//! alloy's.

use alloy_eips::eip2718::Eip2718Error;
use alloy_primitives::U256;

use super::refuse;
use crate::chain::rows::rlp::Items;
use crate::error::Error;
use crate::evm::chain_spec::ChainSpec;
use crate::json::{Envelope, Price};

/// Return the error for `bytes` that are no transaction of the chain. `reason` is the decoder's.
pub fn explain(spec: &ChainSpec, bytes: &[u8], reason: &Eip2718Error) -> Error {
    match bytes {
        [] | [0..0x80] => refuse("rlp", "typed transaction too short"),
        [0 | 5..0x80, ..] => refuse("type", "transaction type not supported"),
        _ => wrong_value(spec, bytes).unwrap_or_else(|| match reason {
            Eip2718Error::RlpError(error) => refuse("rlp", format!("rlp: {error}")),
            _ => refuse("rlp", "rlp: no legacy transaction"),
        }),
    }
}

/// Return the error for a wrong value in `bytes`, in geth's order of checks, or None.
fn wrong_value(spec: &ChainSpec, bytes: &[u8]) -> Option<Error> {
    if let Some(version) = wrapper_version(bytes).filter(|version| *version != [1]) {
        let version = version.first().copied().unwrap_or(0);
        return Some(refuse("sidecar", format!("unsupported blob tx version {version}")));
    }
    let envelope = envelope(bytes)?;
    fees(&envelope).or_else(|| sender(spec, &envelope)).or_else(|| cost(&envelope))
}

/// Return the second item of a wrapped blob transaction if it is a string: the version of the wrapper.
fn wrapper_version(bytes: &[u8]) -> Option<&[u8]> {
    let [3, list @ ..] = bytes else { return None };
    let mut items = Items::of_list(list).ok()?;
    items.list().ok()?;
    items.string().ok()
}

fn envelope(bytes: &[u8]) -> Option<Envelope<'_>> {
    let [3, list @ ..] = bytes else {
        return Envelope::new(bytes).ok();
    };
    let items = Items::of_list(list).ok()?;
    let inner = { items }.list();
    Envelope::of_items(3, inner.unwrap_or(items)).ok()
}

fn fees(envelope: &Envelope<'_>) -> Option<Error> {
    let (fee, tip) = offered(envelope);
    let name = match (fee.len() > 32, tip.len() > 32) {
        (true, _) => "max fee per gas",
        (_, true) => "max priority fee per gas",
        _ => return None,
    };
    Some(refuse("fee_very_high", format!("{name} higher than 2^256-1")))
}

fn sender(spec: &ChainSpec, envelope: &Envelope<'_>) -> Option<Error> {
    let chain_id = match envelope.chain_id {
        Some(id) => id.iter().try_fold(U256::ZERO, |value, byte| shifted(value, *byte)),
        None => legacy_chain_id(envelope.v),
    };
    if let Some(id) = chain_id.filter(|id| *id != U256::from(spec.chain_id())) {
        let words = "invalid sender: invalid chain id for signer";
        return Some(refuse("chain_id", format!("{words}: have {id} want {}", spec.chain_id())));
    }
    let is_parity = envelope.kind == 0 || matches!(envelope.v, [] | [1]);
    let is_signature = is_parity && envelope.r.len() <= 32 && envelope.s.len() <= 32;
    let is_plain = envelope.kind == 0 && chain_id.is_none() && !matches!(envelope.v, [27 | 28]);
    (!is_signature || is_plain)
        .then(|| refuse("signature", "invalid sender: invalid transaction v, r, s values"))
}

/// Return the chain id in a legacy signature by geth's arithmetic, which wraps below 35, or None.
fn legacy_chain_id(v: &[u8]) -> Option<U256> {
    let number = v.iter().try_fold(U256::ZERO, |value, byte| shifted(value, *byte))?;
    match u64::try_from(number) {
        Ok(0 | 1 | 27 | 28) => None,
        Ok(small) => Some(U256::from(small.wrapping_sub(35) / 2)),
        Err(_) => Some((number - U256::from(35)) >> 1),
    }
}

fn shifted(value: U256, byte: u8) -> Option<U256> {
    value.checked_mul(U256::from(256))?.checked_add(U256::from(byte))
}

/// Return the error for amounts that no account can pay: a value above 256 bits, or fees above 128.
fn cost(envelope: &Envelope<'_>) -> Option<Error> {
    let (fee, tip) = offered(envelope);
    let blob_fee = envelope.max_fee_per_blob_gas.unwrap_or_default();
    let is_payable = envelope.value.len() <= 32 && [fee, tip, blob_fee].iter().all(|fee| fee.len() <= 16);
    (!is_payable).then(|| refuse("insufficient_funds", "insufficient funds for gas * price + value"))
}

fn offered<'a>(envelope: &Envelope<'a>) -> (&'a [u8], &'a [u8]) {
    match envelope.price {
        Price::Fixed(price) => (price, price),
        Price::Dynamic { max_priority_fee, max_fee } => (max_fee, max_priority_fee),
    }
}
