//! Transactions from the bytes that clients send.

use std::sync::Mutex;

use alloy_consensus::transaction::SignerRecoverable;
use alloy_consensus::{Signed, Transaction, TxEip4844Variant, TxEnvelope};
use alloy_eips::eip2718::{Decodable2718, Encodable2718};
use alloy_primitives::Address;

use super::impersonation::impersonated_sender;
use super::sidecar::Sidecar;
use super::{refuse, PooledTransaction};
use crate::chain_spec::ChainSpec;
use crate::error::Error;

impl PooledTransaction {
    /// The transaction in `bytes`: an envelope, or that of a blob transaction wrapped with its blobs.
    pub fn decode(spec: &ChainSpec, bytes: &[u8]) -> Result<Self, Error> {
        let (envelope, sidecar) = read(bytes)?;
        let sender = signer(spec, &envelope)?;
        Self::new(envelope, sender, sidecar, bytes)
    }

    /// The same, signed by nobody: its signature is the placeholder that names the sender.
    pub fn decode_impersonated(spec: &ChainSpec, bytes: &[u8]) -> Result<Self, Error> {
        let (envelope, sidecar) = read(bytes)?;
        check_chain(spec, &envelope)?;
        let sender = impersonated_sender(envelope.signature()).ok_or_else(|| {
            refuse("signature", "invalid sender: the transaction names no impersonated sender")
        })?;
        Ok(Self { is_impersonated: true, ..Self::new(envelope, sender, sidecar, bytes)? })
    }

    fn new(envelope: TxEnvelope, sender: Address, sidecar: Sidecar, bytes: &[u8]) -> Result<Self, Error> {
        let encoded = envelope.encoded_2718();
        if matches!(sidecar, Sidecar::Absent) && encoded != bytes {
            return Err(malformed("rlp: not the canonical encoding"));
        }
        let (size, sidecar) = (bytes.len(), Mutex::new(sidecar));
        Ok(Self { envelope, sender, encoded, size, is_impersonated: false, sidecar })
    }
}

fn read(bytes: &[u8]) -> Result<(TxEnvelope, Sidecar), Error> {
    match bytes {
        [0x80..=0xff, ..] => {}
        [] | [_] => return Err(malformed("typed transaction too short")),
        [1..=4, ..] => {}
        _ => return Err(refuse("type", "transaction type not supported")),
    }
    let envelope =
        TxEnvelope::decode_2718_exact(bytes).map_err(|reason| malformed(format!("rlp: {reason}")))?;
    Ok(unwrap(envelope))
}

/// A transaction as blocks hold it, and what was around it.
fn unwrap(envelope: TxEnvelope) -> (TxEnvelope, Sidecar) {
    let TxEnvelope::Eip4844(signed) = envelope else {
        return (envelope, Sidecar::Absent);
    };
    let (transaction, signature, hash) = signed.into_parts();
    let (inner, sidecar) = match transaction {
        TxEip4844Variant::TxEip4844(inner) => (inner, Sidecar::Absent),
        TxEip4844Variant::TxEip4844WithSidecar(with) => {
            (with.tx, Sidecar::Unverified(Box::new(with.sidecar)))
        }
    };
    let inner = TxEip4844Variant::TxEip4844(inner);
    (TxEnvelope::Eip4844(Signed::new_unchecked(inner, signature, hash)), sidecar)
}

fn signer(spec: &ChainSpec, envelope: &TxEnvelope) -> Result<Address, Error> {
    check_chain(spec, envelope)?;
    envelope
        .recover_signer()
        .map_err(|_| refuse("signature", "invalid sender: invalid transaction v, r, s values"))
}

fn check_chain(spec: &ChainSpec, envelope: &TxEnvelope) -> Result<(), Error> {
    match envelope.chain_id() {
        Some(id) if id != spec.chain_id => {
            let words = "invalid sender: invalid chain id for signer";
            Err(refuse("chain_id", format!("{words}: have {id} want {}", spec.chain_id)))
        }
        _ => Ok(()),
    }
}

fn malformed(words: impl Into<String>) -> Error {
    refuse("rlp", words)
}
