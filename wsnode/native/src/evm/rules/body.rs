//! The rules that bind a body to its header.

use alloy_consensus::proofs::{calculate_ommers_root, calculate_withdrawals_root};
use alloy_consensus::{Transaction, Typed2718};
use alloy_primitives::B256;

use crate::error::{demand, Broken, Rule};
use crate::evm::block::UnverifiedBlock;
use crate::evm::chain_spec::{ChainSpec, Fork};

/// The largest block from Osaka on: what gossip carries, less what a beacon block may add.
const MAXIMUM_SIZE: usize = (10 << 20) - (2 << 20);

pub fn verify(spec: &ChainSpec, block: &UnverifiedBlock) -> Result<(), Broken> {
    verify_size(spec, block)?;
    demand(Rule::OmmersHash, calculate_ommers_root(&block.ommers), block.header.ommers_hash)?;
    demand(Rule::TransactionsRoot, block.transactions_root, block.header.transactions_root)?;
    verify_withdrawals(block)?;
    verify_types(spec, block)?;
    verify_blob_gas(block)
}

fn verify_size(spec: &ChainSpec, block: &UnverifiedBlock) -> Result<(), Broken> {
    let is_limited = spec.is_active_at(Fork::Osaka, block.header.number, block.header.timestamp);
    if is_limited && block.size > MAXIMUM_SIZE {
        return Err(Broken::new(Rule::BlockSize, format!("at most {MAXIMUM_SIZE} bytes"), block.size));
    }
    Ok(())
}

fn verify_withdrawals(block: &UnverifiedBlock) -> Result<(), Broken> {
    let root: Option<B256> = block.withdrawals.as_deref().map(calculate_withdrawals_root);
    match (root, block.header.withdrawals_root) {
        (Some(actual), Some(stated)) => demand(Rule::WithdrawalsRoot, actual, stated),
        (None, None) => Ok(()),
        (Some(_), None) => Err(Broken::new(Rule::WithdrawalsPresence, "no withdrawals", "withdrawals")),
        (None, Some(_)) => Err(Broken::new(Rule::WithdrawalsPresence, "withdrawals", "none")),
    }
}

/// Every type of transaction has its fork.
fn verify_types(spec: &ChainSpec, block: &UnverifiedBlock) -> Result<(), Broken> {
    let (number, timestamp) = (block.header.number, block.header.timestamp);
    for transaction in &block.transactions {
        let is_known = match transaction.ty() {
            0 => true,
            1 => spec.is_active(Fork::Berlin, number),
            2 => spec.is_london(number),
            3 => spec.is_active_at(Fork::Cancun, number, timestamp),
            _ => spec.is_active_at(Fork::Prague, number, timestamp),
        };
        if !is_known {
            let fork = spec.fork_name(number, timestamp);
            let found = format!("{:#x}", transaction.ty());
            return Err(Broken::new(Rule::TransactionType, format!("a type that {fork} knows"), found));
        }
    }
    Ok(())
}

fn verify_blob_gas(block: &UnverifiedBlock) -> Result<(), Broken> {
    let used: u64 = block.transactions.iter().filter_map(|transaction| transaction.blob_gas_used()).sum();
    demand(Rule::BlobGasUsed, used, block.header.blob_gas_used.unwrap_or(0))
}
