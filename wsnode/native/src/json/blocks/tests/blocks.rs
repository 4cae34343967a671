//! Tests of blocks, transactions and uncles.

use alloy_consensus::transaction::{Recovered, TransactionInfo};
use alloy_consensus::TxEnvelope;
use alloy_primitives::{Address, U256};
use alloy_rpc_types_eth::{Block, Transaction};
use serde_json::{json, Value};

use super::super::{
    render_block, render_header, render_transaction, render_uncle, BlockStyle, TotalDifficulty,
};
use super::random::Random;
use super::samples::{chain, Sample};
use super::value;
use crate::chain::rows::{block_rlp, BodyRow, HeaderRow};

const FULL: BlockStyle = BlockStyle { full: true, pending: false, total_difficulty: TotalDifficulty::Absent };

impl Sample {
    fn rendered(&self, style: &BlockStyle) -> Value {
        let (header, body) = (HeaderRow::new(&self.header).unwrap(), BodyRow::new(&self.body).unwrap());
        value(|text| render_block(text, &header, &body, style))
    }

    /// Return the block as alloy's RPC types print it.
    fn expected(&self) -> Value {
        let mut transactions = self.transactions().into_iter();
        let block = Block::from_consensus(self.block.clone(), None)
            .map_transactions(|_| transactions.next().unwrap());
        serde_json::to_value(block).unwrap()
    }

    fn transactions(&self) -> Vec<Transaction> {
        let header = &self.block.header;
        let transactions = self.block.body.transactions.iter().zip(&self.senders).enumerate();
        let transaction = |(index, (transaction, sender)): (usize, (&TxEnvelope, &Address))| {
            let info = TransactionInfo {
                hash: Some(*transaction.tx_hash()),
                index: Some(index as u64),
                block_hash: Some(header.hash_slow()),
                block_number: Some(header.number),
                base_fee: header.base_fee_per_gas,
                block_timestamp: Some(header.timestamp),
            };
            Transaction::from_transaction(Recovered::new_unchecked(transaction.clone(), *sender), info)
        };
        transactions.map(transaction).collect()
    }
}

fn samples() -> impl Iterator<Item = Sample> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    chain().into_iter().chain((0..400).map(move |_| random.sample(12)))
}

#[test]
fn full_blocks_equal_those_of_alloy() {
    for sample in samples() {
        assert_eq!(sample.rendered(&FULL), sample.expected());
    }
}

#[test]
fn a_block_of_hashes_differs_only_in_its_transactions() {
    for sample in samples() {
        let mut expected = sample.expected();
        let hashes: Vec<_> =
            sample.block.body.transactions.iter().map(|transaction| json!(transaction.tx_hash())).collect();
        expected["transactions"] = Value::Array(hashes);
        assert_eq!(sample.rendered(&BlockStyle { full: false, ..FULL }), expected);
    }
}

#[test]
fn a_pending_block_has_no_hash_nonce_and_bloom_and_its_transactions_no_place() {
    for sample in samples().skip(50).take(20) {
        let mut expected = sample.expected();
        for key in ["hash", "nonce", "logsBloom"] {
            expected[key] = Value::Null;
        }
        for transaction in expected["transactions"].as_array_mut().unwrap() {
            for key in ["blockHash", "blockNumber", "blockTimestamp", "transactionIndex"] {
                transaction[key] = Value::Null;
            }
        }
        assert_eq!(sample.rendered(&BlockStyle { pending: true, ..FULL }), expected);
    }
}

#[test]
fn total_difficulty_is_a_quantity_or_null() {
    let sample = &chain()[5];
    let with = |total_difficulty| {
        sample.rendered(&BlockStyle { total_difficulty, ..FULL })["totalDifficulty"].clone()
    };
    assert_eq!(with(TotalDifficulty::Known(U256::from(0xa1b2))), json!("0xa1b2"));
    assert_eq!(with(TotalDifficulty::Known(U256::ZERO)), json!("0x0"));
    assert_eq!(with(TotalDifficulty::Unknown), Value::Null);
}

#[test]
fn a_transaction_alone_equals_that_of_its_block() {
    for sample in samples() {
        let (header, body) = (HeaderRow::new(&sample.header).unwrap(), BodyRow::new(&sample.body).unwrap());
        for (index, transaction) in sample.transactions().iter().enumerate() {
            let rendered = value(|text| render_transaction(text, &header, &body, index, false));
            assert_eq!(rendered, serde_json::to_value(transaction).unwrap());
        }
    }
}

#[test]
fn an_uncle_is_a_block_without_transactions() {
    for sample in samples() {
        let body = BodyRow::new(&sample.body).unwrap();
        for (index, ommer) in sample.block.body.ommers.iter().enumerate() {
            let rendered = value(|text| render_uncle(text, &body, index, TotalDifficulty::Absent));
            let expected: Block = Block::uncle_from_header(ommer.clone());
            assert_eq!(rendered, serde_json::to_value(&expected).unwrap());
        }
    }
}

#[test]
fn rows_give_back_the_block() {
    for sample in samples() {
        let (header, body) = (HeaderRow::new(&sample.header).unwrap(), BodyRow::new(&sample.body).unwrap());
        assert_eq!(header.header().unwrap(), sample.block.header);
        assert_eq!(header.blob_base_fee(), sample.blob_base_fee);
        let transactions = body.transactions().unwrap();
        let signed: Vec<_> = transactions.iter().map(|transaction| transaction.signed().unwrap()).collect();
        assert_eq!(signed, sample.block.body.transactions.iter().collect::<Vec<_>>());
        assert_eq!(body.senders().unwrap(), sample.senders);
        assert_eq!(body.ommers().unwrap(), sample.block.body.ommers);
        let withdrawals = sample.block.body.withdrawals.as_ref().map(|all| all.to_vec());
        assert_eq!(body.withdrawals().unwrap(), withdrawals);
        assert_eq!(block_rlp(&header, &body).unwrap(), alloy_rlp::encode(&sample.block));
        assert_eq!(header.size(), alloy_rlp::encode(&sample.block).len());
    }
}

#[test]
fn a_header_alone_equals_that_of_alloy_with_nulls_for_what_its_fork_lacks() {
    for sample in samples() {
        let rendered = value(|text| render_header(text, &HeaderRow::new(&sample.header).unwrap()));
        let mut expected = serde_json::to_value(&sample.block.header).unwrap();
        expected["hash"] = json!(sample.block.header.hash_slow());
        let members = rendered.as_object().unwrap();
        assert_eq!(members.len(), 24);
        for (key, member) in members {
            assert_eq!(member, expected.get(key).unwrap_or(&Value::Null), "{key}");
        }
        assert!(expected.as_object().unwrap().keys().all(|key| members.contains_key(key)));
    }
}
