//! Signatures of transactions and messages for development chains.

use alloy_consensus::crypto::secp256k1::{recover_signer_unchecked, sign_message as sign_hash};
use alloy_consensus::{
    EthereumTypedTransaction, SignableTransaction, TxEip1559, TxEip2930, TxEip4844, TxLegacy,
};
use alloy_eips::eip2718::Encodable2718;
use alloy_eips::eip2930::AccessList;
use alloy_eips::eip7702::SignedAuthorization;
use alloy_primitives::{eip191_hash_message, Address, Bytes, Signature, TxKind, B256, U256};

use crate::error::Error;
use crate::evm::block::impersonation;
use crate::evm::call::unsigned::with_authorizations;

/// Gas price of a transaction, in wei per gas: one price, or the two caps of EIP-1559.
#[derive(Debug, Clone, Copy)]
pub enum OfferedPrice {
    Fixed(u128),
    Dynamic { max_fee: u128, max_priority_fee: u128 },
}

/// Unsigned transaction without blobs. Its members decide its type: legacy, 1, 2 or 4.
#[derive(Debug, Clone)]
pub struct Draft {
    pub chain_id: u64,
    pub nonce: u64,
    pub to: TxKind,
    pub value: U256,
    pub input: Bytes,
    pub gas: u64,
    pub price: OfferedPrice,
    pub access_list: Option<AccessList>,
    pub authorizations: Option<Vec<SignedAuthorization>>,
}

type UnsignedTransaction = EthereumTypedTransaction<TxEip4844>;

/// Return the signed envelope (EIP-2718) of `draft`.
pub fn sign(secret: B256, draft: Draft) -> Result<Vec<u8>, Error> {
    let transaction = draft.unsigned()?;
    let signature = sign_hash(secret, transaction.signature_hash()).map_err(Error::internal)?;
    Ok(envelope(transaction, signature))
}

/// Return the envelope (EIP-2718) of `draft` with a placeholder in place of the signature. The placeholder
/// names `sender`.
pub fn impersonate(sender: Address, draft: Draft) -> Result<Vec<u8>, Error> {
    Ok(envelope(draft.unsigned()?, impersonation(sender)))
}

/// Return the signature of a text as 65 bytes: r, s, and 27 or 28. The text is hashed behind the prefix of
/// EIP-191, so that the signature is never valid for a transaction.
pub fn sign_message(secret: B256, message: &[u8]) -> Result<[u8; 65], Error> {
    let signature = sign_hash(secret, eip191_hash_message(message)).map_err(Error::internal)?;
    Ok(signature.as_bytes())
}

/// Return the signature of a hash without a prefix, such as the hash of typed data (EIP-712), as 65 bytes: r,
/// s, and 27 or 28.
pub fn sign_digest(secret: B256, digest: B256) -> Result<[u8; 65], Error> {
    Ok(sign_hash(secret, digest).map_err(Error::internal)?.as_bytes())
}

/// Return the compressed public key of a secret, 33 bytes (SEC 1, section 2.3.3).
pub fn public_key_of(secret: B256) -> Result<Box<[u8]>, Error> {
    let secret = k256::SecretKey::from_slice(secret.as_slice()).map_err(Error::internal)?;
    Ok(secret.public_key().to_sec1_bytes())
}

/// Return the address of a secret's public key.
pub fn address_of(secret: B256) -> Result<Address, Error> {
    let message = B256::ZERO;
    let signature = sign_hash(secret, message).map_err(Error::internal)?;
    recover_signer_unchecked(&signature, message).map_err(Error::internal)
}

fn envelope(transaction: UnsignedTransaction, signature: Signature) -> Vec<u8> {
    transaction.into_envelope(signature).encoded_2718()
}

impl Draft {
    fn unsigned(self) -> Result<UnsignedTransaction, Error> {
        match self.price {
            OfferedPrice::Fixed(_) if self.authorizations.is_some() => {
                Err(refused("authorizations need max_fee"))
            }
            OfferedPrice::Fixed(price) => Ok(self.at_price(price)),
            OfferedPrice::Dynamic { max_fee, max_priority_fee } => self.at_fees(max_fee, max_priority_fee),
        }
    }

    fn at_price(self, gas_price: u128) -> UnsignedTransaction {
        let Self { chain_id, nonce, to, value, input, gas: gas_limit, access_list, .. } = self;
        match access_list {
            None => {
                let chain_id = Some(chain_id);
                TxLegacy { chain_id, nonce, gas_price, gas_limit, to, value, input }.into()
            }
            Some(access_list) => {
                TxEip2930 { chain_id, nonce, gas_price, gas_limit, to, value, input, access_list }.into()
            }
        }
    }

    fn at_fees(
        self,
        max_fee_per_gas: u128,
        max_priority_fee_per_gas: u128,
    ) -> Result<UnsignedTransaction, Error> {
        let Self { chain_id, nonce, to, value, input, gas: gas_limit, .. } = self;
        let transaction = TxEip1559 {
            chain_id,
            nonce,
            gas_limit,
            max_fee_per_gas,
            max_priority_fee_per_gas,
            to,
            value,
            access_list: self.access_list.unwrap_or_default(),
            input,
        };
        match (self.authorizations, to) {
            (None, _) => Ok(transaction.into()),
            (Some(list), TxKind::Call(to)) => Ok(with_authorizations(transaction, to, list).into()),
            (Some(_), TxKind::Create) => {
                Err(refused("a transaction with authorizations creates no contract"))
            }
        }
    }
}

fn refused(message: &str) -> Error {
    Error::InvalidTransaction { kind: "draft", message: message.into() }
}
