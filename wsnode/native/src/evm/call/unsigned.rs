//! Messages as unsigned transactions.

use alloy_consensus::{SignableTransaction, TxEip1559, TxEip4844, TxEip7702, TxType};
use alloy_eips::eip2718::Encodable2718;
use alloy_eips::eip7702::SignedAuthorization;
use alloy_primitives::{Address, Signature, TxKind, U256};
use alloy_rlp::Encodable;

use super::Message;

/// Numbers of a transaction that its message lacks.
#[derive(Debug, Clone, Copy)]
pub struct UnsignedTerms {
    pub chain_id: u64,
    pub nonce: u64,
    pub gas: u64,
    pub has_base_fee: bool,
}

impl UnsignedTerms {
    /// Return the type of the transaction. With a gas price it is legacy, whatever other members there are.
    pub fn kind(self, message: &Message) -> TxType {
        match message {
            _ if message.gas_price.is_some() || !self.has_base_fee => TxType::Legacy,
            Message { authorizations: Some(_), .. } => TxType::Eip7702,
            Message { blob_hashes: Some(_), .. } => TxType::Eip4844,
            _ => TxType::Eip1559,
        }
    }

    /// Return the envelope with a signature of zeros. `narrow` converts a fee to 128 bits, or refuses it.
    pub fn envelope<E>(
        self,
        message: &Message,
        narrow: impl Fn(U256) -> Result<u128, E>,
    ) -> Result<Vec<u8>, E> {
        let narrow = |fee: Option<U256>| narrow(fee.unwrap_or_default());
        Ok(match self.kind(message) {
            TxType::Legacy | TxType::Eip2930 => self.legacy(message),
            TxType::Eip1559 => signed(self.dynamic(message, narrow)?),
            TxType::Eip4844 => {
                let transaction = self.dynamic(message, narrow)?;
                signed(with_blobs(transaction, message, narrow(message.max_blob_fee)?))
            }
            TxType::Eip7702 => {
                let list = message.authorizations.clone().unwrap_or_default();
                signed(with_authorizations(self.dynamic(message, narrow)?, recipient(message), list))
            }
        })
    }

    /// Return a legacy transaction with `v` 0, encoded here because alloy writes a `v` of at least 27.
    fn legacy(self, message: &Message) -> Vec<u8> {
        let zero = U256::ZERO;
        let price = message.gas_price.unwrap_or_default();
        let fields: [&dyn Encodable; 9] = [
            &self.nonce,
            &price,
            &self.gas,
            &message.to,
            &message.value,
            &message.input,
            &zero,
            &zero,
            &zero,
        ];
        let mut envelope = Vec::new();
        alloy_rlp::encode_list::<_, dyn Encodable>(&fields, &mut envelope);
        envelope
    }

    fn dynamic<E>(
        self,
        message: &Message,
        narrow: impl Fn(Option<U256>) -> Result<u128, E>,
    ) -> Result<TxEip1559, E> {
        Ok(TxEip1559 {
            chain_id: self.chain_id,
            nonce: self.nonce,
            gas_limit: self.gas,
            max_fee_per_gas: narrow(message.max_fee)?,
            max_priority_fee_per_gas: narrow(message.max_priority_fee)?,
            to: message.to,
            value: message.value,
            access_list: message.access_list.clone().unwrap_or_default(),
            input: message.input.clone(),
        })
    }
}

fn with_blobs(transaction: TxEip1559, message: &Message, max_fee_per_blob_gas: u128) -> TxEip4844 {
    TxEip4844 {
        chain_id: transaction.chain_id,
        nonce: transaction.nonce,
        gas_limit: transaction.gas_limit,
        max_fee_per_gas: transaction.max_fee_per_gas,
        max_priority_fee_per_gas: transaction.max_priority_fee_per_gas,
        to: recipient(message),
        value: transaction.value,
        access_list: transaction.access_list,
        blob_versioned_hashes: message.blob_hashes.clone().unwrap_or_default(),
        max_fee_per_blob_gas,
        input: transaction.input,
    }
}

/// Return the transaction as one of type 4, with these authorizations.
pub fn with_authorizations(
    transaction: TxEip1559,
    to: Address,
    authorization_list: Vec<SignedAuthorization>,
) -> TxEip7702 {
    TxEip7702 {
        chain_id: transaction.chain_id,
        nonce: transaction.nonce,
        gas_limit: transaction.gas_limit,
        max_fee_per_gas: transaction.max_fee_per_gas,
        max_priority_fee_per_gas: transaction.max_priority_fee_per_gas,
        to,
        value: transaction.value,
        access_list: transaction.access_list,
        authorization_list,
        input: transaction.input,
    }
}

fn signed<T>(transaction: T) -> Vec<u8>
where
    T: SignableTransaction<Signature>,
    alloy_consensus::Signed<T>: Encodable2718,
{
    transaction.into_signed(Signature::new(U256::ZERO, U256::ZERO, false)).encoded_2718()
}

/// Return the recipient. A message without one was refused before.
fn recipient(message: &Message) -> Address {
    match message.to {
        TxKind::Call(to) => to,
        TxKind::Create => Address::ZERO,
    }
}
