//! Blocks as other nodes tell them in JSON, encoded again; what a block is follows from that alone.

use alloy_consensus::{Block, BlockBody, Header, TxEnvelope};
use alloy_rpc_types_eth::{
    Block as ToldBlock, BlockTransactions, Header as ToldHeader, Transaction, TransactionReceipt,
};
use serde::de::DeserializeOwned;

use crate::chain::rows::encode_receipts;
use crate::error::{Broken, Error, Rule};

/// The RLP of a block, out of its JSON with whole transactions and that of its ommers' headers.
///
/// Hashes in the JSON are ignored: they follow from the fields, and decoding the RLP computes them.
pub fn encode_told(block: &[u8], ommers: &[&[u8]]) -> Result<Vec<u8>, Error> {
    let told: ToldBlock<Transaction<TxEnvelope>> = read(block, "a block with whole transactions")?;
    let BlockTransactions::Full(transactions) = told.transactions else {
        return Err(unusual("whole transactions", "hashes"));
    };
    if told.uncles.len() != ommers.len() {
        return Err(unusual(format!("{} ommers", told.uncles.len()), ommers.len()));
    }
    let headers =
        ommers.iter().map(|ommer| read::<ToldHeader>(ommer, "an ommer's header").map(|told| told.inner));
    let body = BlockBody::<TxEnvelope, Header> {
        transactions: transactions.into_iter().map(|transaction| transaction.inner.into_inner()).collect(),
        ommers: headers.collect::<Result<_, _>>()?,
        withdrawals: told.withdrawals,
    };
    Ok(alloy_rlp::encode(Block { header: told.header.inner, body }))
}

/// The row of a block's receipts, out of their JSON. Nothing of it is checked: the receipts root decides.
pub fn encode_told_receipts(receipts: &[u8]) -> Result<Vec<u8>, Error> {
    let told: Vec<TransactionReceipt> = read(receipts, "the receipts of a block")?;
    let receipts: Vec<_> = told.into_iter().map(|receipt| receipt.inner.into_primitives_receipt()).collect();
    Ok(encode_receipts(&receipts))
}

fn read<T: DeserializeOwned>(text: &[u8], expected: &str) -> Result<T, Error> {
    serde_json::from_slice(text).map_err(|reason| unusual(expected, reason))
}

fn unusual(expected: impl std::fmt::Display, actual: impl std::fmt::Display) -> Error {
    Broken::new(Rule::Json, expected, actual).by(None, None).into()
}
