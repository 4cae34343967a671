//! Transactions signed for development chains.

use alloy_consensus::crypto::secp256k1::{recover_signer_unchecked, sign_message};
use alloy_consensus::{SignableTransaction, TxEip1559, TxEnvelope};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256};

use crate::error::Error;

/// The signed envelope of `transaction`.
pub fn sign(secret: B256, transaction: TxEip1559) -> Result<Vec<u8>, Error> {
    let signature = sign_message(secret, transaction.signature_hash()).map_err(Error::internal)?;
    Ok(TxEnvelope::Eip1559(transaction.into_signed(signature)).encoded_2718())
}

/// The address that belongs to a secret.
pub fn address_of(secret: B256) -> Result<Address, Error> {
    let message = B256::ZERO;
    let signature = sign_message(secret, message).map_err(Error::internal)?;
    recover_signer_unchecked(&signature, message).map_err(Error::internal)
}
