//! Calls as unsigned transactions of a simulated block.

use alloy_consensus::TxType;
use alloy_eips::eip4844::DATA_GAS_PER_BLOB;
use alloy_primitives::{keccak256, B256, U256};

use crate::chain::rows::StoredTransaction;
use crate::error::Error;
use crate::evm::call::refusal::refuse;
use crate::evm::call::unsigned::UnsignedTerms;
use crate::evm::call::Message;

/// Transaction with a signature of zeros.
#[derive(Debug, Clone)]
pub struct Unsigned {
    pub kind: TxType,
    pub hash: B256,
    pub envelope: Vec<u8>,
    pub blob_gas: u64,
}

impl StoredTransaction for Unsigned {
    fn hash(&self) -> &B256 {
        &self.hash
    }

    fn encode(&self, row: &mut Vec<u8>) {
        row.extend_from_slice(&self.envelope);
    }
}

impl Unsigned {
    pub fn new(message: &Message, terms: UnsignedTerms) -> Result<Self, Error> {
        let (kind, envelope) = (terms.kind(message), terms.envelope(message, narrow)?);
        let blobs = message.blob_hashes.as_ref().filter(|_| kind == TxType::Eip4844).map_or(0, Vec::len);
        let blob_gas = blobs as u64 * DATA_GAS_PER_BLOB;
        Ok(Self { kind, hash: keccak256(&envelope), envelope, blob_gas })
    }
}

fn narrow(fee: U256) -> Result<u128, Error> {
    fee.try_into().map_err(|_| refuse("unsupported", format!("fee per gas {fee} exceeds 128 bits")))
}
