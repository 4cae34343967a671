//! Tests of receipts, logs and the log index.

use alloy_consensus::{ReceiptEnvelope, Transaction, TxEnvelope};
use alloy_primitives::Address;
use alloy_rpc_types_eth::{Log, TransactionReceipt};
use serde_json::Value;

use super::super::{render_log, render_logs, render_receipt, render_receipts, BlockContext, LogSelection};
use super::random::Random;
use super::samples::Sample;
use super::{text, value};
use crate::chain::rows::{encode_receipts, log_entries, BodyRow, HeaderRow, ReceiptsRow};

fn with_receipts(random: &mut Random) -> (Sample, Vec<ReceiptEnvelope>) {
    let sample = random.sample(12);
    let receipts = random.receipts(&sample.block.body.transactions);
    (sample, receipts)
}

/// Return the receipts as alloy's RPC types print them.
fn expected(sample: &Sample, receipts: &[ReceiptEnvelope]) -> Vec<Value> {
    let header = &sample.block.header;
    let (mut logs, mut gas) = (0, 0);
    let mut receipt = |(index, receipt): (usize, &ReceiptEnvelope)| {
        let (transaction, from) = (&sample.block.body.transactions[index], sample.senders[index]);
        let rendered = TransactionReceipt {
            inner: receipt.clone().map_logs(|inner| {
                logs += 1;
                log(sample, transaction, index, logs - 1, inner)
            }),
            transaction_hash: *transaction.tx_hash(),
            transaction_index: Some(index as u64),
            block_hash: Some(header.hash_slow()),
            block_number: Some(header.number),
            gas_used: receipt.cumulative_gas_used() - gas,
            effective_gas_price: transaction.effective_gas_price(header.base_fee_per_gas),
            blob_gas_used: transaction.blob_gas_used(),
            blob_gas_price: transaction.blob_gas_used().and(sample.blob_base_fee),
            from,
            to: transaction.to(),
            contract_address: created(transaction, from),
        };
        gas = receipt.cumulative_gas_used();
        serde_json::to_value(&rendered).unwrap()
    };
    receipts.iter().enumerate().map(&mut receipt).collect()
}

fn created(transaction: &TxEnvelope, from: Address) -> Option<Address> {
    transaction.to().is_none().then(|| from.create(transaction.nonce()))
}

fn log(
    sample: &Sample,
    transaction: &TxEnvelope,
    index: usize,
    number: u64,
    inner: alloy_primitives::Log,
) -> Log {
    Log {
        inner,
        block_hash: Some(sample.block.header.hash_slow()),
        block_number: Some(sample.block.header.number),
        block_timestamp: Some(sample.block.header.timestamp),
        transaction_hash: Some(*transaction.tx_hash()),
        transaction_index: Some(index as u64),
        log_index: Some(number),
        removed: false,
    }
}

#[test]
fn receipts_equal_those_of_alloy() {
    let mut random = Random(7);
    for _ in 0..400 {
        let (sample, receipts) = with_receipts(&mut random);
        let row = encode_receipts(&receipts);
        let header = HeaderRow::new(&sample.header).unwrap();
        let (body, row) = (BodyRow::new(&sample.body).unwrap(), ReceiptsRow::new(&row).unwrap());
        let expected = expected(&sample, &receipts);
        for (index, expected) in expected.iter().enumerate() {
            assert_eq!(&value(|text| render_receipt(text, &header, &body, &row, index)), expected);
        }
        assert_eq!(value(|text| render_receipts(text, &header, &body, &row)), Value::Array(expected));
        assert!(text(|text| render_receipt(text, &header, &body, &row, receipts.len())).is_empty());
    }
}

#[test]
fn logs_are_those_of_the_receipts() {
    let mut random = Random(11);
    for _ in 0..100 {
        let (sample, receipts) = with_receipts(&mut random);
        let row = encode_receipts(&receipts);
        let all: Vec<Value> = expected(&sample, &receipts)
            .iter()
            .flat_map(|receipt| receipt["logs"].as_array().unwrap().clone())
            .collect();
        let chosen: Vec<usize> = (0..all.len()).filter(|_| random.below(2) == 0).collect();
        let expected: Vec<Value> = chosen.iter().map(|number| all[*number].clone()).collect();
        assert_eq!(logs(&sample, &row, None), all);
        assert_eq!(logs(&sample, &row, Some(chosen)), expected);
    }
}

#[test]
fn a_removed_log_differs_only_in_saying_so() {
    let mut random = Random(31);
    for _ in 0..50 {
        let (sample, receipts) = with_receipts(&mut random);
        let row = encode_receipts(&receipts);
        let header = HeaderRow::new(&sample.header).unwrap();
        let (body, row) = (BodyRow::new(&sample.body).unwrap(), ReceiptsRow::new(&row).unwrap());
        let block = BlockContext { removed: true, ..BlockContext::new(&header, false).unwrap() };
        for (number, log) in logs(&sample, &encode_receipts(&receipts), None).into_iter().enumerate() {
            let mut expected = log;
            expected["removed"] = true.into();
            assert_eq!(value(|text| render_log(text, &block, &body, &row, number)), expected);
        }
        assert!(render_log(&mut Default::default(), &block, &body, &row, row.log_count()).is_err());
    }
}

fn logs(sample: &Sample, receipts: &[u8], numbers: Option<Vec<usize>>) -> Vec<Value> {
    let selection = LogSelection {
        header: HeaderRow::new(&sample.header).unwrap(),
        body: BodyRow::new(&sample.body).unwrap(),
        receipts: ReceiptsRow::new(receipts).unwrap(),
        numbers,
    };
    let rendered = text(|text| render_logs(text, &selection, false));
    serde_json::from_slice(&[b"[", &rendered[..], b"]"].concat()).unwrap()
}

#[test]
fn index_entries_lead_to_every_log() {
    let mut random = Random(13);
    let blocks: Vec<_> = (0..50).map(|_| with_receipts(&mut random).1).collect();
    let rows: Vec<_> = blocks.iter().map(|receipts| encode_receipts(receipts)).collect();
    let rows: Vec<_> = rows.iter().map(|row| ReceiptsRow::new(row).unwrap()).collect();
    let first = 3 * 65_536 - 20;
    let entries = log_entries(&rows, first).unwrap();
    assert!(entries.is_sorted());
    let logs: Vec<_> = blocks.iter().flatten().flat_map(|receipt| receipt.logs().to_vec()).collect();
    let keys: usize = logs.iter().map(|log| 2 + log.topics().len()).sum();
    let mut found = 0;
    for (key, positions) in entries {
        let (kind, chunk) = (key[0] as usize, u32::from_be_bytes(*key.last_chunk().unwrap()));
        assert!(positions
            .chunks(4)
            .is_sorted_by_key(|position| u32::from_le_bytes(position.try_into().unwrap())));
        for position in positions.chunks(4) {
            let number =
                (u64::from(chunk) << 16) + u64::from(u32::from_le_bytes(position.try_into().unwrap()));
            let log = &logs[(number - first) as usize];
            let count = [log.topics().len() as u8];
            let value = match kind {
                0 => log.address.as_slice(),
                5 => &count,
                position => log.topics()[position - 1].as_slice(),
            };
            assert_eq!(&key[1..key.len() - 4], value);
            found += 1;
        }
    }
    assert_eq!(found, keys);
}
