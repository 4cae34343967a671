//! Pooled transactions: decoded from a client's bytes, and checked by the rules that need no state.
//!
//! Order and words of the rules are those of geth's core/txpool/validation.go and core/types.

mod check;
mod decode;
mod gas;
mod malformed;
mod sidecar;
#[cfg(test)]
mod tests;

use std::sync::Mutex;

use alloy_consensus::TxEnvelope;
use alloy_primitives::Address;

use crate::error::Error;

pub use check::{check, Terms};
pub use sidecar::{blob_proof, cell_proofs, cells, ProvenBlob, Sidecar};

/// Transaction with a valid form and signature, and its sender.
#[derive(Debug)]
pub struct PooledTransaction {
    /// Envelope as blocks hold it, without blobs.
    pub envelope: TxEnvelope,
    pub sender: Address,
    pub encoded: Vec<u8>,
    /// Length of the client's bytes, blobs included.
    pub size: usize,
    /// True if the transaction is unsigned, and a development chain impersonates its sender.
    pub is_impersonated: bool,
    sidecar: Mutex<Sidecar>,
}

fn refuse(kind: &'static str, message: impl Into<String>) -> Error {
    Error::InvalidTransaction { kind, message: message.into() }
}
