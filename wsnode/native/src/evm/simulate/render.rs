//! Simulated blocks as JSON: the block's own members and `calls`.

use alloy_primitives::map::B256Map;
use alloy_primitives::{Address, B256};
use alloy_rlp::Encodable;

use super::block::Simulated;
use super::call::{CallResult, End};
use super::tracer::NumberedLog;
use super::transaction::Unsigned;
use crate::chain::rows::{encode_body_of, encode_header, BodyRow, HeaderRow, LogRow};
use crate::error::Error;
use crate::evm::call::revert_message;
use crate::evm::chain_spec::{blob_base_fee, ChainSpec};
use crate::json::{render_block, write_log, BlockContext, BlockStyle, TotalDifficulty, Writer};

const REVERTED: i64 = 3;
const HALTED: i64 = -32015;

/// Write a block object. With `full`, transactions are objects instead of hashes.
pub fn write_block(text: &mut Writer, spec: &ChainSpec, block: &Simulated, full: bool) -> Result<(), Error> {
    let transactions: Vec<Unsigned> = block.results.iter().map(|result| result.transaction.clone()).collect();
    let body = encode_body_of(&transactions, &senders(&block.results), &[], block.withdrawals.as_deref());
    let fee = blob_base_fee(spec, &block.header);
    let header = encode_header(&block.header, block.hash, size(block), fee);
    let (header, body) = (HeaderRow::new(&header)?, BodyRow::new(&body)?);
    let style = BlockStyle { full, pending: false, total_difficulty: TotalDifficulty::Absent };
    render_block(text, &header, &body, &style)?;
    text.reopen();
    text.fixed(b",\"calls\":");
    let context = BlockContext::new(&header, false)?;
    text.list(block.results.iter().enumerate().map(Ok), |text, (index, result)| {
        write_call(text, &context, index, result);
        Ok::<_, Error>(())
    })?;
    text.fixed(b"}");
    Ok(())
}

/// Return the sender of each transaction by its hash. If transactions differ in the sender alone, their
/// hashes are equal, and all have the last one's sender.
fn senders(results: &[CallResult]) -> Vec<Address> {
    let by_hash: B256Map<Address> =
        results.iter().map(|result| (result.transaction.hash, result.message.sender)).collect();
    results.iter().map(|result| by_hash[&result.transaction.hash]).collect()
}

/// Return the length of the block's RLP, in bytes.
fn size(block: &Simulated) -> usize {
    let transaction = |result: &CallResult| {
        let envelope = result.transaction.envelope.as_slice();
        match result.transaction.kind {
            alloy_consensus::TxType::Legacy => envelope.len(),
            _ => envelope.length(),
        }
    };
    let transactions: usize = block.results.iter().map(transaction).sum();
    let withdrawals = block.withdrawals.as_ref().map_or(0, |list| list.length());
    let no_ommers = 1;
    list_length(block.header.length() + list_length(transactions) + no_ommers + withdrawals)
}

fn list_length(payload_length: usize) -> usize {
    alloy_rlp::Header { list: true, payload_length }.length_with_payload()
}

fn write_call(text: &mut Writer, block: &BlockContext<'_>, index: usize, result: &CallResult) {
    text.fixed(b"{\"returnData\":\"0x");
    if let End::Success(output) = &result.end {
        text.bytes(output);
    }
    text.fixed(b"\",\"logs\":");
    let hash = &result.transaction.hash;
    let logs = result.logs.iter().map(Ok::<_, std::convert::Infallible>);
    let Ok(()) = text.list(logs, |text, log| {
        write_numbered(text, block, index, hash, log);
        Ok(())
    });
    text.fixed(b",\"gasUsed\":\"0x");
    text.quantity(result.gas_used);
    text.fixed(b"\",\"maxUsedGas\":\"0x");
    text.quantity(result.max_used_gas);
    match &result.end {
        End::Success(_) => text.fixed(b"\",\"status\":\"0x1\"}"),
        failure => write_failure(text, failure),
    }
}

fn write_numbered(
    text: &mut Writer,
    block: &BlockContext<'_>,
    transaction_index: usize,
    hash: &B256,
    NumberedLog { number, log }: &NumberedLog,
) {
    let topics: Vec<u8> = log.topics().iter().flat_map(|topic| topic.0).collect();
    let row = LogRow { transaction_index, address: &log.address, topics: &topics, data: &log.data.data };
    write_log(text, block, &row, &hash.0, *number);
}

fn write_failure(text: &mut Writer, failure: &End) {
    let (code, message) = match failure {
        End::Halt(words) => (HALTED, words.clone()),
        End::Revert(output) => (REVERTED, revert_message(output)),
        End::Success(_) => return,
    };
    text.fixed(b"\",\"status\":\"0x0\",\"error\":{\"message\":");
    text.text(&serde_json::Value::from(message).to_string());
    text.fixed(b",\"code\":");
    text.text(&code.to_string());
    if let End::Revert(output) = failure {
        text.fixed(b",\"data\":\"0x");
        text.bytes(output);
        text.fixed(b"\"");
    }
    text.fixed(b"}}");
}
