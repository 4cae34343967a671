//! Message that a caller asks to run.

use alloy_eips::eip2930::AccessList;
use alloy_eips::eip7702::SignedAuthorization;
use alloy_primitives::{Address, Bytes, TxKind, B256, U256};

/// Message that need not be a valid transaction. An absent member has geth's default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Message {
    pub sender: Address,
    pub to: TxKind,
    pub gas: Option<u64>,
    pub gas_price: Option<U256>,
    pub max_fee: Option<U256>,
    pub max_priority_fee: Option<U256>,
    pub max_blob_fee: Option<U256>,
    pub value: U256,
    pub input: Bytes,
    pub access_list: Option<AccessList>,
    pub blob_hashes: Option<Vec<B256>>,
    pub authorizations: Option<Vec<SignedAuthorization>>,
    /// Nonce of a simulated transaction. Calls ignore it.
    pub nonce: Option<u64>,
}
