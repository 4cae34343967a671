//! Transactions from the bytes that clients send.

use std::sync::Mutex;

use alloy_consensus::crypto::SECP256K1N_HALF;
use alloy_consensus::transaction::SignerRecoverable;
use alloy_consensus::{Signed, Transaction, TxEip4844Variant, TxEnvelope};
use alloy_eips::eip2718::{Decodable2718, Eip2718Error, Encodable2718};
use alloy_primitives::{Address, Signature, U256};

use super::malformed::explain;
use super::sidecar::Sidecar;
use super::{refuse, PooledTransaction};
use crate::error::Error;
use crate::evm::block::{impersonated_sender, note_sender};
use crate::evm::chain_spec::ChainSpec;

impl PooledTransaction {
    /// Return the transaction in `bytes`: an envelope, or a blob transaction's envelope with its blobs.
    pub fn decode(spec: &ChainSpec, bytes: &[u8]) -> Result<Self, Error> {
        let (envelope, sidecar) = read(spec, bytes)?;
        let sender = signer(spec, &envelope)?;
        note_sender(&envelope, sender);
        Self::new(envelope, sender, sidecar, bytes)
    }

    /// Return an unsigned transaction. Its signature must be a placeholder that names the sender.
    pub fn decode_impersonated(spec: &ChainSpec, bytes: &[u8]) -> Result<Self, Error> {
        let (envelope, sidecar) = read(spec, bytes)?;
        check_chain(spec, &envelope)?;
        let sender = impersonated_sender(envelope.signature()).ok_or_else(|| {
            refuse("signature", "invalid sender: the transaction names no impersonated sender")
        })?;
        Ok(Self { is_impersonated: true, ..Self::new(envelope, sender, sidecar, bytes)? })
    }

    fn new(envelope: TxEnvelope, sender: Address, sidecar: Sidecar, bytes: &[u8]) -> Result<Self, Error> {
        let encoded = envelope.encoded_2718();
        if matches!(sidecar, Sidecar::Absent) && encoded != bytes {
            return Err(refuse("rlp", "rlp: not the canonical encoding"));
        }
        let (size, sidecar) = (bytes.len(), Mutex::new(sidecar));
        Ok(Self { envelope, sender, encoded, size, is_impersonated: false, sidecar })
    }
}

fn read(spec: &ChainSpec, bytes: &[u8]) -> Result<(TxEnvelope, Sidecar), Error> {
    // alloy would decode a transaction of type 0 as a legacy transaction.
    if bytes.first() == Some(&0) {
        return Err(explain(spec, bytes, &Eip2718Error::UnexpectedType(0)));
    }
    let envelope = TxEnvelope::decode_2718_exact(bytes).map_err(|reason| explain(spec, bytes, &reason))?;
    Ok(unwrap(envelope))
}

/// Return a transaction as blocks hold it, and its sidecar.
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
    let words = match is_in_range(envelope.signature()) {
        true => "invalid sender: recovery failed",
        false => "invalid sender: invalid transaction v, r, s values",
    };
    envelope.recover_signer().map_err(|_| refuse("signature", words))
}

/// Return whether `r` and `s` are in the range of the curve, and `s` in its lower half.
fn is_in_range(signature: &Signature) -> bool {
    let order = SECP256K1N_HALF * U256::from(2) + U256::ONE;
    let (r, s) = (signature.r(), signature.s());
    !r.is_zero() && r < order && !s.is_zero() && s <= SECP256K1N_HALF
}

fn check_chain(spec: &ChainSpec, envelope: &TxEnvelope) -> Result<(), Error> {
    match envelope.chain_id() {
        Some(id) if id != spec.chain_id() => {
            let words = "invalid sender: invalid chain id for signer";
            Err(refuse("chain_id", format!("{words}: have {id} want {}", spec.chain_id())))
        }
        _ => Ok(()),
    }
}
