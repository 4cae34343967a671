//! Transactions of a block: signed by an account, or made by the protocol.

pub mod system;
mod types;

use alloy_consensus::{TxEnvelope, Typed2718};
use alloy_eips::eip2718::{Decodable2718, Encodable2718};
use alloy_primitives::B256;
use alloy_rlp::{BufMut, Encodable};

use crate::chain::rows::RowError;
use system::{SystemTransaction, SystemType};

/// Transaction as far as a row stores it.
pub trait StoredTransaction {
    fn hash(&self) -> &B256;

    /// Append the typed envelope.
    fn encode(&self, row: &mut Vec<u8>);
}

impl StoredTransaction for TxEnvelope {
    fn hash(&self) -> &B256 {
        self.tx_hash()
    }

    fn encode(&self, row: &mut Vec<u8>) {
        self.encode_2718(row);
    }
}

// Few transactions of a block are system transactions, so a box around the signed ones would cost more than
// it saves.
#[expect(clippy::large_enum_variant)]
#[derive(Debug, Clone)]
pub enum Transaction {
    Signed(TxEnvelope),
    System(SystemTransaction),
}

impl Transaction {
    pub fn decode(envelope: &[u8]) -> Result<Self, RowError> {
        match envelope.first() {
            Some(kind) if SystemType::of(*kind).is_some() => {
                SystemTransaction::decode(envelope).map(Self::System)
            }
            _ => TxEnvelope::decode_2718_exact(envelope)
                .map(Self::Signed)
                .map_err(|_| RowError::Corrupt("transaction")),
        }
    }

    pub fn signed(&self) -> Option<&TxEnvelope> {
        match self {
            Self::Signed(transaction) => Some(transaction),
            Self::System(_) => None,
        }
    }

    pub fn kind(&self) -> u8 {
        match self {
            Self::Signed(transaction) => transaction.ty(),
            Self::System(transaction) => transaction.row.kind,
        }
    }
}

impl StoredTransaction for Transaction {
    fn hash(&self) -> &B256 {
        match self {
            Self::Signed(transaction) => transaction.tx_hash(),
            Self::System(transaction) => &transaction.hash,
        }
    }

    fn encode(&self, row: &mut Vec<u8>) {
        match self {
            Self::Signed(transaction) => transaction.encode_2718(row),
            Self::System(transaction) => row.extend_from_slice(transaction.envelope()),
        }
    }
}

/// As a block holds it: a typed one in a string.
impl Encodable for Transaction {
    fn encode(&self, out: &mut dyn BufMut) {
        match self {
            Self::Signed(transaction) => Encodable::encode(transaction, out),
            Self::System(transaction) => transaction.envelope().encode(out),
        }
    }

    fn length(&self) -> usize {
        match self {
            Self::Signed(transaction) => Encodable::length(transaction),
            Self::System(transaction) => transaction.envelope().length(),
        }
    }
}
