//! The transaction that a message would be, unsigned: geth names it where the message is refused.

use alloy_consensus::transaction::RlpEcdsaEncodableTx;
use alloy_consensus::{SignableTransaction, TxEip1559, TxEip4844, TxEip7702};
use alloy_primitives::{keccak256, Address, Bytes, Signature, TxKind, B256, U256};
use alloy_rlp::Encodable;

use crate::call::Message;
use crate::error::Error;

/// What a message lacks of a transaction.
#[derive(Debug, Clone, Copy)]
pub struct Envelope {
    pub chain_id: u64,
    pub nonce: u64,
    pub gas: u64,
    pub has_base_fee: bool,
}

impl Envelope {
    /// A refusal of `message` in the words of geth's access lists.
    pub fn name(self, error: Error, message: &Message) -> Error {
        match error {
            Error::InvalidTransaction { kind, message: words } if kind != "overrides" => {
                let text = format!("failed to apply transaction: {} err: {words}", self.hash(message));
                Error::InvalidTransaction { kind, message: text }
            }
            other => other,
        }
    }

    fn hash(self, message: &Message) -> B256 {
        if message.gas_price.is_some() || !self.has_base_fee {
            return self.legacy_hash(message);
        }
        match (&message.authorizations, &message.blob_hashes) {
            (Some(_), _) => sealed(self.set_code(message)),
            (None, Some(_)) => sealed(self.with_blobs(message)),
            (None, None) => sealed(self.plain(message)),
        }
    }

    fn legacy_hash(self, message: &Message) -> B256 {
        let price = message.gas_price.unwrap_or_default();
        let to = message.to.to().map(|to| to.to_vec()).unwrap_or_default();
        let numbers = [U256::from(self.nonce), price, U256::from(self.gas)];
        let mut members: Vec<u8> = numbers.iter().flat_map(alloy_rlp::encode).collect();
        Bytes::from(to).encode(&mut members);
        message.value.encode(&mut members);
        message.input.encode(&mut members);
        [0u8; 3].iter().for_each(|absent| absent.encode(&mut members));
        let mut list = Vec::with_capacity(members.len() + 9);
        alloy_rlp::Header { list: true, payload_length: members.len() }.encode(&mut list);
        keccak256([list, members].concat())
    }

    fn plain(self, message: &Message) -> TxEip1559 {
        TxEip1559 {
            chain_id: self.chain_id,
            nonce: self.nonce,
            gas_limit: self.gas,
            max_fee_per_gas: fee(message.max_fee),
            max_priority_fee_per_gas: fee(message.max_priority_fee),
            to: message.to,
            value: message.value,
            access_list: message.access_list.clone().unwrap_or_default(),
            input: message.input.clone(),
        }
    }

    fn with_blobs(self, message: &Message) -> TxEip4844 {
        let plain = self.plain(message);
        TxEip4844 {
            chain_id: plain.chain_id,
            nonce: plain.nonce,
            gas_limit: plain.gas_limit,
            max_fee_per_gas: plain.max_fee_per_gas,
            max_priority_fee_per_gas: plain.max_priority_fee_per_gas,
            to: receiver(message),
            value: plain.value,
            access_list: plain.access_list,
            blob_versioned_hashes: message.blob_hashes.clone().unwrap_or_default(),
            max_fee_per_blob_gas: fee(message.max_blob_fee),
            input: plain.input,
        }
    }

    fn set_code(self, message: &Message) -> TxEip7702 {
        let plain = self.plain(message);
        TxEip7702 {
            chain_id: plain.chain_id,
            nonce: plain.nonce,
            gas_limit: plain.gas_limit,
            max_fee_per_gas: plain.max_fee_per_gas,
            max_priority_fee_per_gas: plain.max_priority_fee_per_gas,
            to: receiver(message),
            value: plain.value,
            access_list: plain.access_list,
            authorization_list: message.authorizations.clone().unwrap_or_default(),
            input: plain.input,
        }
    }
}

fn sealed<T: SignableTransaction<Signature> + RlpEcdsaEncodableTx>(transaction: T) -> B256 {
    *transaction.into_signed(Signature::new(U256::ZERO, U256::ZERO, false)).hash()
}

fn receiver(message: &Message) -> Address {
    match message.to {
        TxKind::Call(address) => address,
        TxKind::Create => Address::ZERO,
    }
}

fn fee(fee: Option<U256>) -> u128 {
    fee.unwrap_or_default().saturating_to()
}
