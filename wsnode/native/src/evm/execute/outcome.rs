//! What a block's header promises about its execution.

use alloy_consensus::proofs::calculate_receipt_root;
use alloy_consensus::{Header, ReceiptEnvelope};
use alloy_primitives::{hex, keccak256, Bloom, B256};

use super::Executed;
use crate::error::{demand, Broken, Rule};
use crate::evm::block::UnverifiedBlock;

/// The commitments to a list of receipts.
#[derive(Debug, Clone, Copy)]
pub struct Sealed {
    pub root: B256,
    pub bloom: Bloom,
}

/// The root and the bloom of `receipts`.
pub fn seal_receipts(receipts: &[ReceiptEnvelope]) -> Sealed {
    let mut bloom = Bloom::ZERO;
    receipts.iter().for_each(|receipt| bloom |= *receipt.logs_bloom());
    Sealed { root: calculate_receipt_root(receipts), bloom }
}

/// Compare everything but the state root, which is the most expensive to know.
pub fn verify(header: &Header, executed: &Executed) -> Result<(), Broken> {
    demand(Rule::GasUsed, executed.gas_used, header.gas_used)?;
    verify_sealed(header, &executed.receipts)?;
    match header.requests_hash {
        Some(stated) => demand(Rule::RequestsHash, executed.requests.requests_hash(), stated),
        None => Ok(()),
    }
}

/// Compare what receipts of others say with their block's header; each is of its transaction's type.
pub fn verify_receipts(block: &UnverifiedBlock, receipts: &[ReceiptEnvelope]) -> Result<(), Broken> {
    // The root first: while that is wrong, nothing that the receipts say speaks against the block.
    verify_sealed(&block.header, receipts)?;
    let gas_used = receipts.last().map_or(0, |last| last.cumulative_gas_used());
    demand(Rule::GasUsed, gas_used, block.header.gas_used)
}

fn verify_sealed(header: &Header, receipts: &[ReceiptEnvelope]) -> Result<(), Broken> {
    let sealed = seal_receipts(receipts);
    demand(Rule::ReceiptsRoot, sealed.root, header.receipts_root)?;
    if sealed.bloom != header.logs_bloom {
        return Err(Broken::new(Rule::LogsBloom, shortened(&sealed.bloom), shortened(&header.logs_bloom)));
    }
    Ok(())
}

/// A bloom is too long for a message; its hash distinguishes two.
fn shortened(bloom: &Bloom) -> String {
    format!("a bloom of hash {}", hex::encode_prefixed(&keccak256(bloom)[..8]))
}
