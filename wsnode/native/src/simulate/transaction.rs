//! Calls as unsigned transactions: what a simulated block holds of them.

use alloy_consensus::{SignableTransaction, TxEip1559, TxEip4844, TxEip7702, TxType};
use alloy_eips::eip2718::Encodable2718;
use alloy_eips::eip4844::DATA_GAS_PER_BLOB;
use alloy_primitives::{keccak256, Address, Bytes, Signature, TxKind, B256, U256};
use alloy_rlp::Encodable;

use crate::call::fees::Fees;
use crate::call::refusal::refuse;
use crate::call::Message;
use crate::error::Error;
use crate::rows::StoredTransaction;

/// A transaction with a signature of zeros.
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

/// The numbers that a transaction needs besides those of its message.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    pub chain_id: u64,
    pub nonce: u64,
    pub gas: u64,
    pub has_base_fee: bool,
}

impl Unsigned {
    pub fn new(message: &Message, terms: Terms) -> Result<Self, Error> {
        let kind = kind(message, terms.has_base_fee);
        let envelope = match kind {
            TxType::Legacy | TxType::Eip2930 => legacy(message, terms),
            TxType::Eip1559 => signed(dynamic(message, terms)?),
            TxType::Eip4844 => signed(with_blobs(message, terms)?),
            TxType::Eip7702 => signed(with_authorizations(message, terms)?),
        };
        let blobs = message.blob_hashes.as_ref().filter(|_| kind == TxType::Eip4844).map_or(0, Vec::len);
        let blob_gas = blobs as u64 * DATA_GAS_PER_BLOB;
        Ok(Self { kind, hash: keccak256(&envelope), envelope, blob_gas })
    }
}

/// A price makes a legacy transaction whatever else there is.
fn kind(message: &Message, has_base_fee: bool) -> TxType {
    match message {
        _ if message.gas_price.is_some() || !has_base_fee => TxType::Legacy,
        Message { authorizations: Some(_), .. } => TxType::Eip7702,
        Message { blob_hashes: Some(_), .. } => TxType::Eip4844,
        _ => TxType::Eip1559,
    }
}

fn signed<T>(transaction: T) -> Vec<u8>
where
    T: SignableTransaction<Signature>,
    alloy_consensus::Signed<T>: Encodable2718,
{
    transaction.into_signed(Signature::new(U256::ZERO, U256::ZERO, false)).encoded_2718()
}

/// Legacy transactions by hand: alloy's have a `v` of 27 at least.
fn legacy(message: &Message, terms: Terms) -> Vec<u8> {
    let zero = U256::ZERO;
    let price = message.gas_price.unwrap_or_default();
    let fields: [&dyn Encodable; 9] =
        [&terms.nonce, &price, &terms.gas, &message.to, &message.value, &message.input, &zero, &zero, &zero];
    let mut envelope = Vec::new();
    alloy_rlp::encode_list::<_, dyn Encodable>(&fields, &mut envelope);
    envelope
}

fn dynamic(message: &Message, terms: Terms) -> Result<TxEip1559, Error> {
    let fees = fees(message)?;
    Ok(TxEip1559 {
        chain_id: terms.chain_id,
        nonce: terms.nonce,
        gas_limit: terms.gas,
        max_fee_per_gas: fees.cap,
        max_priority_fee_per_gas: fees.tip,
        to: message.to,
        value: message.value,
        access_list: message.access_list.clone().unwrap_or_default(),
        input: message.input.clone(),
    })
}

fn with_blobs(message: &Message, terms: Terms) -> Result<TxEip4844, Error> {
    let fees = fees(message)?;
    Ok(TxEip4844 {
        chain_id: terms.chain_id,
        nonce: terms.nonce,
        gas_limit: terms.gas,
        max_fee_per_gas: fees.cap,
        max_priority_fee_per_gas: fees.tip,
        to: recipient(message),
        value: message.value,
        access_list: message.access_list.clone().unwrap_or_default(),
        blob_versioned_hashes: message.blob_hashes.clone().unwrap_or_default(),
        max_fee_per_blob_gas: narrow(message.max_blob_fee.unwrap_or_default())?,
        input: message.input.clone(),
    })
}

fn with_authorizations(message: &Message, terms: Terms) -> Result<TxEip7702, Error> {
    let fees = fees(message)?;
    Ok(TxEip7702 {
        chain_id: terms.chain_id,
        nonce: terms.nonce,
        gas_limit: terms.gas,
        max_fee_per_gas: fees.cap,
        max_priority_fee_per_gas: fees.tip,
        to: recipient(message),
        value: message.value,
        access_list: message.access_list.clone().unwrap_or_default(),
        authorization_list: message.authorizations.clone().unwrap_or_default(),
        input: Bytes::clone(&message.input),
    })
}

struct Narrow {
    cap: u128,
    tip: u128,
}

fn fees(message: &Message) -> Result<Narrow, Error> {
    let Fees { cap, tip, .. } = Fees::of(message, Some(0));
    Ok(Narrow { cap: narrow(cap)?, tip: narrow(tip)? })
}

fn narrow(fee: U256) -> Result<u128, Error> {
    fee.try_into().map_err(|_| refuse("unsupported", format!("fee per gas {fee} exceeds 128 bits")))
}

/// Arguments without a recipient are refused before.
fn recipient(message: &Message) -> Address {
    match message.to {
        TxKind::Call(to) => to,
        TxKind::Create => Address::ZERO,
    }
}
