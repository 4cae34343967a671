//! Checks of a block's execution against its header.

use alloy_consensus::proofs::{calculate_receipt_root, ordered_trie_root_encoded};
use alloy_consensus::{Header, ReceiptEnvelope};
use alloy_primitives::{hex, keccak256, Bloom, B256};

use super::Executed;
use crate::chain::rows::{ReceiptsRow, RowError, Transaction};
use crate::error::{require_equal, Rule, RuleViolation};
use crate::evm::block::UnverifiedBlock;

#[derive(Debug, Clone, Copy)]
pub struct ReceiptCommitments {
    pub root: B256,
    pub bloom: Bloom,
}

pub fn seal_receipts(receipts: &[ReceiptEnvelope]) -> ReceiptCommitments {
    let mut bloom = Bloom::ZERO;
    receipts.iter().for_each(|receipt| bloom |= *receipt.logs_bloom());
    ReceiptCommitments { root: calculate_receipt_root(receipts), bloom }
}

/// Check everything but the state root, whose computation is the most expensive.
pub fn verify(header: &Header, executed: &Executed) -> Result<(), RuleViolation> {
    require_equal(Rule::GasUsed, executed.gas_used, header.gas_used)?;
    verify_sealed(header, seal_receipts(&executed.receipts))?;
    if let Some(stated) = header.requests_hash {
        require_equal(Rule::RequestsHash, executed.requests.requests_hash(), stated)?;
    }
    executed.access_list.as_ref().map_or(Ok(()), |list| list.verify(header))
}

/// Check the receipts row of another node against the block's header.
pub fn verify_receipts(block: &UnverifiedBlock, row: &[u8]) -> Result<(), RuleViolation> {
    // The root is checked first: receipts with a wrong root may not be the block's, so their contents prove
    // nothing against it.
    let (sealed, gas_used) = seal_row(block, row)
        .map_err(|reason| RuleViolation::new(Rule::ReceiptsRoot, "a receipt for each transaction", reason))?;
    verify_sealed(&block.header, sealed)?;
    if block.header.number == 0 {
        // The gas used by a genesis block is arbitrary: the genesis file sets it to choose the base fee of
        // the first block.
        return Ok(());
    }
    if block.header.block_access_list_hash.is_some() {
        // From Amsterdam on, the header has the larger of two sums, and receipts have the gas that the
        // senders paid for (EIP-7778, EIP-8037). Neither value bounds the other.
        return Ok(());
    }
    require_equal(Rule::GasUsed, gas_used, block.header.gas_used)
}

/// Return the commitments to the receipts in a row, and the cumulative gas used of the last receipt.
fn seal_row(block: &UnverifiedBlock, row: &[u8]) -> Result<(ReceiptCommitments, u64), RowError> {
    let row = ReceiptsRow::new(row)?;
    let root = ordered_trie_root_encoded(&row.envelopes(block.transactions.iter().map(Transaction::kind))?);
    let (mut bloom, mut gas_used) = (Bloom::ZERO, 0);
    for index in 0..row.receipt_count() {
        let receipt = row.receipt(index)?.ok_or(RowError::Corrupt("a receipt is not there"))?;
        bloom |= receipt.bloom.bloom();
        gas_used = receipt.cumulative_gas_used;
    }
    Ok((ReceiptCommitments { root, bloom }, gas_used))
}

fn verify_sealed(header: &Header, sealed: ReceiptCommitments) -> Result<(), RuleViolation> {
    require_equal(Rule::ReceiptsRoot, sealed.root, header.receipts_root)?;
    if sealed.bloom != header.logs_bloom {
        return Err(RuleViolation::new(
            Rule::LogsBloom,
            shortened(&sealed.bloom),
            shortened(&header.logs_bloom),
        ));
    }
    Ok(())
}

/// Return a text with the bloom's hash. The bloom itself is too long for a message.
fn shortened(bloom: &Bloom) -> String {
    format!("a bloom of hash {}", hex::encode_prefixed(&keccak256(bloom)[..8]))
}
