//! Encoding of a receipts row.

use alloy_consensus::{Eip658Value, ReceiptEnvelope};
use alloy_primitives::{Bloom, Log};

use super::bloom::push_bloom;
use super::receipts::{DepositReceipt, FAILURE, RECEIPT_ENDS, STATE_ROOT, SUCCESS, VERSION};
use super::write::{push_u32, set_u32};

/// Receipt as far as a row stores it.
pub trait StoredReceipt {
    fn status(&self) -> Eip658Value;
    fn cumulative_gas_used(&self) -> u64;
    fn bloom(&self) -> &Bloom;
    fn logs(&self) -> &[Log];

    /// Return the members that only the receipt of a deposit has; None for other receipts.
    fn deposit(&self) -> Option<DepositReceipt> {
        None
    }
}

impl StoredReceipt for ReceiptEnvelope {
    fn status(&self) -> Eip658Value {
        self.as_receipt().map_or(Eip658Value::Eip658(false), |inner| inner.status)
    }

    fn cumulative_gas_used(&self) -> u64 {
        self.cumulative_gas_used()
    }

    fn bloom(&self) -> &Bloom {
        self.logs_bloom()
    }

    fn logs(&self) -> &[Log] {
        self.logs()
    }
}

pub fn encode_receipts(receipts: &[ReceiptEnvelope]) -> Vec<u8> {
    encode_receipts_of(receipts)
}

pub fn encode_receipts_of<R: StoredReceipt>(receipts: &[R]) -> Vec<u8> {
    let logs: usize = receipts.iter().map(|receipt| receipt.logs().len()).sum();
    let mut row = Vec::with_capacity(RECEIPT_ENDS + 64 * receipts.len() + 256 * logs);
    row.push(VERSION);
    push_u32(&mut row, receipts.len());
    push_u32(&mut row, logs);
    row.resize(RECEIPT_ENDS + 4 * receipts.len() + 4 * logs, 0);
    push_receipts(&mut row, receipts);
    push_logs(&mut row, receipts);
    for deposit in receipts.iter().map_while(R::deposit) {
        row.extend_from_slice(&deposit.nonce.to_le_bytes());
        row.extend_from_slice(&deposit.version.to_le_bytes());
    }
    row
}

fn push_receipts<R: StoredReceipt>(row: &mut Vec<u8>, receipts: &[R]) {
    let start = row.len();
    let mut logs = 0;
    for (index, receipt) in receipts.iter().enumerate() {
        push_receipt(row, receipt, logs);
        logs += receipt.logs().len();
        let end = row.len() - start;
        set_u32(row, RECEIPT_ENDS + 4 * index, end);
    }
}

fn push_receipt<R: StoredReceipt>(row: &mut Vec<u8>, receipt: &R, logs_before: usize) {
    let (outcome, root) = match receipt.status() {
        Eip658Value::PostState(root) => (STATE_ROOT, Some(root)),
        Eip658Value::Eip658(true) => (SUCCESS, None),
        Eip658Value::Eip658(false) => (FAILURE, None),
    };
    row.push(outcome);
    row.extend_from_slice(&receipt.cumulative_gas_used().to_le_bytes());
    push_u32(row, logs_before);
    row.extend_from_slice(root.as_ref().map_or(&[], |root| root.as_slice()));
    push_bloom(row, receipt.bloom());
}

fn push_logs<R: StoredReceipt>(row: &mut Vec<u8>, receipts: &[R]) {
    let ends = RECEIPT_ENDS + 4 * receipts.len();
    let start = row.len();
    let logs = receipts
        .iter()
        .enumerate()
        .flat_map(|(index, receipt)| receipt.logs().iter().map(move |log| (index, log)));
    for (number, (index, log)) in logs.enumerate() {
        push_log(row, index, log);
        let end = row.len() - start;
        set_u32(row, ends + 4 * number, end);
    }
}

fn push_log(row: &mut Vec<u8>, transaction_index: usize, log: &Log) {
    push_u32(row, transaction_index);
    row.push(log.topics().len() as u8);
    row.extend_from_slice(log.address.as_slice());
    log.topics().iter().for_each(|topic| row.extend_from_slice(topic.as_slice()));
    row.extend_from_slice(&log.data.data);
}
