//! Random transactions of every type.

use alloy_consensus::{
    SignableTransaction, TxEip1559, TxEip2930, TxEip4844, TxEip7702, TxEnvelope, TxLegacy,
};
use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_eips::eip7702::{Authorization, SignedAuthorization};
use alloy_primitives::{Signature, TxKind, U256};

use super::random::Random;

impl Random {
    fn to(&mut self) -> TxKind {
        if self.below(3) == 0 {
            return TxKind::Create;
        }
        TxKind::Call(self.address())
    }

    fn access_list(&mut self) -> AccessList {
        let items = (0..self.below(3)).map(|_| AccessListItem {
            address: self.address(),
            storage_keys: (0..self.below(3)).map(|_| self.hash()).collect(),
        });
        AccessList(items.collect())
    }

    fn authorization(&mut self) -> SignedAuthorization {
        let inner = Authorization { chain_id: self.wei(), address: self.address(), nonce: self.quantity() };
        SignedAuthorization::new_unchecked(inner, self.below(2) as u8, self.wei(), self.wei())
    }

    pub fn transaction(&mut self) -> TxEnvelope {
        let (r, s) = (self.wei() | U256::ONE, self.wei() | U256::ONE);
        let signature = Signature::new(r, s, self.below(2) == 0);
        let (nonce, gas_limit, input, value) =
            (self.quantity(), self.quantity(), self.bytes(100), self.wei());
        let (chain_id, max_fee_per_gas) = (self.quantity().max(1), 1000 + u128::from(self.quantity()));
        let max_priority_fee_per_gas = self.quantity().into();
        match self.below(5) {
            0 => {
                let chain_id = Some(chain_id >> 1).filter(|id| id % 2 == 1);
                let gas_price = max_fee_per_gas;
                let to = self.to();
                TxLegacy { chain_id, nonce, gas_price, gas_limit, to, value, input }
                    .into_signed(signature)
                    .into()
            }
            1 => TxEip2930 {
                chain_id,
                nonce,
                gas_price: max_fee_per_gas,
                gas_limit,
                to: self.to(),
                value,
                input,
                access_list: self.access_list(),
            }
            .into_signed(signature)
            .into(),
            2 => TxEip1559 {
                chain_id,
                nonce,
                gas_limit,
                max_fee_per_gas,
                max_priority_fee_per_gas,
                to: self.to(),
                value,
                input,
                access_list: self.access_list(),
            }
            .into_signed(signature)
            .into(),
            3 => TxEip4844 {
                chain_id,
                nonce,
                gas_limit,
                max_fee_per_gas,
                max_priority_fee_per_gas,
                to: self.address(),
                value,
                input,
                access_list: self.access_list(),
                blob_versioned_hashes: (0..1 + self.below(6)).map(|_| self.hash()).collect(),
                max_fee_per_blob_gas: self.quantity().into(),
            }
            .into_signed(signature)
            .into(),
            _ => TxEip7702 {
                chain_id,
                nonce,
                gas_limit,
                max_fee_per_gas,
                max_priority_fee_per_gas,
                to: self.address(),
                value,
                input,
                access_list: self.access_list(),
                authorization_list: (0..1 + self.below(3)).map(|_| self.authorization()).collect(),
            }
            .into_signed(signature)
            .into(),
        }
    }
}
