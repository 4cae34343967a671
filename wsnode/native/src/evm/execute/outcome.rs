//! What a block's header promises about its execution.

use alloy_consensus::proofs::calculate_receipt_root;
use alloy_consensus::{Header, ReceiptEnvelope};
use alloy_primitives::{hex, keccak256, Bloom, B256};

use super::Executed;
use crate::error::{demand, Broken, Rule};

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
    let sealed = seal_receipts(&executed.receipts);
    demand(Rule::ReceiptsRoot, sealed.root, header.receipts_root)?;
    if sealed.bloom != header.logs_bloom {
        return Err(Broken::new(Rule::LogsBloom, shortened(&sealed.bloom), shortened(&header.logs_bloom)));
    }
    match header.requests_hash {
        Some(stated) => demand(Rule::RequestsHash, executed.requests.requests_hash(), stated),
        None => Ok(()),
    }
}

/// A bloom is too long for a message; its hash distinguishes two.
fn shortened(bloom: &Bloom) -> String {
    format!("a bloom of hash {}", hex::encode_prefixed(&keccak256(bloom)[..8]))
}
