//! Rules that bind a body to its header.

use alloy_consensus::proofs::calculate_ommers_root;
use alloy_consensus::{Header, Transaction as _, TxEnvelope, Typed2718};

use crate::chain::rows::Transaction;
use crate::error::{require_equal, Rule, RuleViolation};
use crate::evm::block::UnverifiedBlock;
use crate::evm::chain_spec::{BlobGas, ChainSpec, Fork};

/// Longest block in bytes, from Osaka on (EIP-7934): the bound of gossip, less a margin for the beacon block.
const MAXIMUM_SIZE: usize = (10 << 20) - (2 << 20);

/// Highest gas limit of a transaction from Amsterdam on, for execution and state together.
pub const MAXIMUM_TRANSACTION_GAS: u64 = u32::MAX as u64;

pub fn verify(spec: &ChainSpec, block: &UnverifiedBlock) -> Result<(), RuleViolation> {
    verify_size(spec, block)?;
    require_equal(Rule::OmmersHash, calculate_ommers_root(&block.ommers), block.header.ommers_hash)?;
    require_equal(Rule::TransactionsRoot, block.transactions_root, block.header.transactions_root)?;
    verify_withdrawals(block)?;
    verify_types(spec, block)?;
    signed(block).try_for_each(|transaction| verify_gas(spec, &block.header, transaction))?;
    match spec.header_rules().blob_gas {
        BlobGas::Ethereum => verify_blob_gas(block),
        BlobGas::Unchecked => Ok(()),
    }
}

fn signed(block: &UnverifiedBlock) -> impl Iterator<Item = &TxEnvelope> {
    block.transactions.iter().filter_map(Transaction::signed)
}

fn verify_size(spec: &ChainSpec, block: &UnverifiedBlock) -> Result<(), RuleViolation> {
    let is_limited = spec.is_active_at(Fork::Osaka, block.header.number, block.header.timestamp);
    if is_limited && block.size > MAXIMUM_SIZE {
        return Err(RuleViolation::new(Rule::BlockSize, format!("at most {MAXIMUM_SIZE} bytes"), block.size));
    }
    Ok(())
}

fn verify_withdrawals(block: &UnverifiedBlock) -> Result<(), RuleViolation> {
    match (block.withdrawals_root, block.header.withdrawals_root) {
        (Some(actual), Some(stated)) => require_equal(Rule::WithdrawalsRoot, actual, stated),
        (None, None) => Ok(()),
        (Some(_), None) => {
            Err(RuleViolation::new(Rule::WithdrawalsPresence, "no withdrawals", "withdrawals"))
        }
        (None, Some(_)) => Err(RuleViolation::new(Rule::WithdrawalsPresence, "withdrawals", "none")),
    }
}

/// Check that the fork of every transaction's type is active.
fn verify_types(spec: &ChainSpec, block: &UnverifiedBlock) -> Result<(), RuleViolation> {
    let (number, timestamp) = (block.header.number, block.header.timestamp);
    for transaction in signed(block) {
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
            return Err(RuleViolation::new(
                Rule::TransactionType,
                format!("a type that {fork} knows"),
                found,
            ));
        }
    }
    Ok(())
}

/// Check a transaction's gas limit against Amsterdam's bound (geth params: MaxTxTotalGas).
pub fn verify_gas(spec: &ChainSpec, header: &Header, transaction: &TxEnvelope) -> Result<(), RuleViolation> {
    let is_bounded = spec.is_active_at(Fork::Amsterdam, header.number, header.timestamp);
    if is_bounded && transaction.gas_limit() > MAXIMUM_TRANSACTION_GAS {
        let bound = format!("gas of at most {MAXIMUM_TRANSACTION_GAS}");
        return Err(RuleViolation::new(Rule::Transaction, bound, transaction.gas_limit()));
    }
    Ok(())
}

fn verify_blob_gas(block: &UnverifiedBlock) -> Result<(), RuleViolation> {
    let used: u64 = signed(block).filter_map(|transaction| transaction.blob_gas_used()).sum();
    require_equal(Rule::BlobGasUsed, used, block.header.blob_gas_used.unwrap_or(0))
}
