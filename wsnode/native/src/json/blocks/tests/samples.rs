//! Blocks to render: those of the conformance chain, and random ones.

use alloy_consensus::transaction::SignerRecoverable;
use alloy_consensus::{Block, BlockBody, Eip658Value, Header, Receipt, ReceiptEnvelope, TxEnvelope};
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, Log};
use alloy_rlp::{Decodable, Encodable};

use super::random::Random;
use crate::chain::rows::{encode_body, encode_header};

const CHAIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/execution-apis/chain.rlp");

/// Block with its senders, as values and as rows.
pub struct Sample {
    pub block: Block<TxEnvelope>,
    pub senders: Vec<Address>,
    pub header: Vec<u8>,
    pub body: Vec<u8>,
    pub blob_base_fee: Option<u128>,
}

impl Sample {
    pub fn new(block: Block<TxEnvelope>, senders: Vec<Address>) -> Self {
        let blob_base_fee = block.header.excess_blob_gas.map(|excess| u128::from(excess) + 1);
        let hash = block.header.hash_slow();
        let header = encode_header(&block.header, hash, block.length(), blob_base_fee);
        let BlockBody { transactions, ommers, withdrawals } = &block.body;
        let body = encode_body(transactions, &senders, ommers, withdrawals.as_ref().map(|all| &all[..]));
        Self { block, senders, header, body, blob_base_fee }
    }
}

/// Return the blocks of the conformance chain.
pub fn chain() -> Vec<Sample> {
    let bytes = std::fs::read(CHAIN).unwrap();
    let mut rest = &bytes[..];
    let mut samples = Vec::new();
    while !rest.is_empty() {
        let block = Block::<TxEnvelope>::decode(&mut rest).unwrap();
        let senders = block.body.transactions.iter().map(|transaction| transaction.recover_signer().unwrap());
        let senders = senders.collect();
        samples.push(Sample::new(block, senders));
    }
    samples
}

impl Random {
    pub fn header(&mut self) -> Header {
        let optional = self.below(2) == 0;
        Header {
            parent_hash: self.hash(),
            beneficiary: self.address(),
            difficulty: self.wei(),
            number: self.quantity(),
            gas_limit: self.quantity(),
            gas_used: self.quantity(),
            timestamp: self.quantity(),
            extra_data: self.bytes(33),
            nonce: self.number().to_be_bytes().into(),
            base_fee_per_gas: optional.then(|| self.number() % 1000),
            withdrawals_root: optional.then(|| self.hash()),
            blob_gas_used: optional.then(|| self.quantity()),
            excess_blob_gas: optional.then(|| self.quantity() >> 1),
            parent_beacon_block_root: optional.then(|| self.hash()),
            requests_hash: optional.then(|| self.hash()),
            ..Default::default()
        }
    }

    /// Return a block of up to `bound - 1` transactions. It has blob transactions only with a header that
    /// allows them.
    pub fn sample(&mut self, bound: usize) -> Sample {
        let header = self.header();
        let wanted = self.below(bound);
        let fits = |transaction: &TxEnvelope| !transaction.is_eip4844() || header.excess_blob_gas.is_some();
        let transactions: Vec<_> = (0..wanted).map(|_| self.transaction()).filter(fits).collect();
        let senders = transactions.iter().map(|_| self.address()).collect();
        let ommers = (0..self.below(3)).map(|_| self.header()).collect();
        let withdrawals = header
            .withdrawals_root
            .map(|_| (0..self.below(4)).map(|_| self.withdrawal()).collect::<Vec<_>>().into());
        Sample::new(Block { header, body: BlockBody { transactions, ommers, withdrawals } }, senders)
    }

    fn withdrawal(&mut self) -> Withdrawal {
        Withdrawal {
            index: self.quantity(),
            validator_index: self.quantity(),
            address: self.address(),
            amount: self.quantity(),
        }
    }

    fn log(&mut self) -> Log {
        let topics = (0..self.below(5)).map(|_| self.hash()).collect();
        Log::new(self.address(), topics, self.bytes(100)).unwrap()
    }

    fn outcome(&mut self) -> Eip658Value {
        match self.below(3) {
            0 => Eip658Value::PostState(self.hash()),
            1 => Eip658Value::Eip658(false),
            _ => Eip658Value::Eip658(true),
        }
    }

    /// Return receipts of `transactions`, some without logs, some with too many for a sparse bloom.
    pub fn receipts(&mut self, transactions: &[TxEnvelope]) -> Vec<ReceiptEnvelope> {
        let mut cumulative_gas_used = 0;
        let mut receipt = |transaction: &TxEnvelope| {
            cumulative_gas_used += self.quantity() >> 10;
            let logs = if self.below(8) == 0 { 40 } else { self.below(4) };
            let logs = (0..logs).map(|_| self.log()).collect();
            let receipt = Receipt { status: self.outcome(), cumulative_gas_used, logs };
            ReceiptEnvelope::from_typed(transaction.tx_type(), receipt.with_bloom())
        };
        transactions.iter().map(&mut receipt).collect()
    }
}
