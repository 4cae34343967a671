//! Block of a busy chain.

use alloy_consensus::{
    Block, BlockBody, Header, Receipt, ReceiptEnvelope, SignableTransaction, Transaction, TxEip1559,
    TxEnvelope,
};
use alloy_primitives::{Log, Signature, TxKind, B256, U256};

use super::random::Random;
use super::samples::Sample;
use crate::chain::rows::encode_receipts;

/// Return the header, body and receipts rows of a block with 100 token transfers, each with one log.
pub fn busy_block(random: &mut Random) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let header = Header { number: 500, timestamp: 1_750_000_000, ..random.header() };
    let transactions: Vec<TxEnvelope> = (0..100).map(|index| transfer(random, index)).collect();
    let senders = transactions.iter().map(|_| random.address()).collect();
    let receipts = transfer_receipts(random, &transactions);
    let sample =
        Sample::new(Block { header, body: BlockBody { transactions, ..Default::default() } }, senders);
    (sample.header, sample.body, encode_receipts(&receipts))
}

fn transfer(random: &mut Random, nonce: u64) -> TxEnvelope {
    let signature =
        Signature::new(U256::from_be_bytes(random.hash().0), U256::from_be_bytes(random.hash().0), true);
    TxEip1559 {
        chain_id: 7070,
        nonce,
        gas_limit: 60_000,
        max_fee_per_gas: 3_000_000_000,
        max_priority_fee_per_gas: 1_000_000_000,
        to: TxKind::Call(random.address()),
        input: [[0; 12].as_slice(), random.address().as_slice(), random.hash().as_slice(), &[1; 4]]
            .concat()
            .into(),
        ..Default::default()
    }
    .into_signed(signature)
    .into()
}

fn transfer_receipts(random: &mut Random, transactions: &[TxEnvelope]) -> Vec<ReceiptEnvelope> {
    let receipt = |(index, transaction): (usize, &TxEnvelope)| {
        let topics = vec![B256::repeat_byte(7), random.address().into_word(), random.address().into_word()];
        let logs = vec![Log::new(transaction.to().unwrap(), topics, random.hash().into()).unwrap()];
        let receipt = Receipt { status: true.into(), cumulative_gas_used: 34_000 * (index as u64 + 1), logs };
        ReceiptEnvelope::from_typed(transaction.tx_type(), receipt.with_bloom())
    };
    transactions.iter().enumerate().map(receipt).collect()
}
