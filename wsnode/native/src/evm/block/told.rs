//! Blocks as other nodes tell them in JSON, encoded again; what a block is follows from that alone.

use alloy_consensus::proofs::calculate_receipt_root;
use alloy_consensus::{Block, BlockBody, Header, TxEnvelope};
use alloy_rlp::Decodable;
use alloy_rpc_types_eth::{
    Block as ToldBlock, BlockTransactions, Header as ToldHeader, Transaction, TransactionReceipt,
};
use serde::de::DeserializeOwned;

use crate::chain::rows::encode_receipts;
use crate::error::{demand, Broken, Error, Rule};

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

/// The row of the receipts of a block in RLP, out of their JSON, if they are those to which its header commits.
pub fn encode_proved_receipts(mut block: &[u8], receipts: &[u8]) -> Result<Vec<u8>, Error> {
    let block = Block::<TxEnvelope>::decode(&mut block).map_err(|reason| unusual("a block", reason))?;
    let told: Vec<TransactionReceipt> = read(receipts, "the receipts of a block")?;
    let receipts: Vec<_> = told.into_iter().map(|receipt| receipt.inner.into_primitives_receipt()).collect();
    let root = calculate_receipt_root(&receipts);
    demand(Rule::ReceiptsRoot, block.header.receipts_root, root)
        .map_err(|broken| broken.by(Some(block.header.number), None))?;
    Ok(encode_receipts(&receipts))
}

/// The header in a block's JSON.
pub fn read_told_header(block: &[u8]) -> Result<Header, Error> {
    Ok(read::<ToldHeader>(block, "a block's header")?.inner)
}

fn read<T: DeserializeOwned>(text: &[u8], expected: &str) -> Result<T, Error> {
    serde_json::from_slice(text).map_err(|reason| unusual(expected, reason))
}

fn unusual(expected: impl std::fmt::Display, actual: impl std::fmt::Display) -> Error {
    Broken::new(Rule::Json, expected, actual).by(None, None).into()
}
