//! Execution of a block's transactions, and of the protocol's changes before and after them.

use alloy_consensus::{Eip658Value, Header, ReceiptEnvelope};
use alloy_eips::eip4895::Withdrawal;
use alloy_eips::eip7685::Requests;
use alloy_evm::block::{
    BlockExecutionError, BlockExecutor, BlockValidationError, InternalBlockExecutionError,
};
use alloy_evm::eth::EthBlockExecutionCtx;
use alloy_evm::{Database, Evm};
use alloy_primitives::B256;
use revm::database::states::bundle_state::BundleRetention;
use revm::database::{BundleState, State};
use revm::Database as _;

use super::access_list::{self, AccessList};
use super::dao;
use super::executor::{execute_transaction, executor};
use super::ExecutionError;
use crate::chain::rows::Transaction;
use crate::error::{Error, Rule, RuleViolation};
use crate::evm::block::UnverifiedBlock;
use crate::evm::chain_spec::{ChainSpec, Fork, FORKS};

/// Results of a block's execution.
#[derive(Debug)]
pub struct Executed {
    pub receipts: Vec<ReceiptEnvelope>,
    pub requests: Requests,
    pub gas_used: u64,
    /// Block access list, from Amsterdam on.
    pub access_list: Option<AccessList>,
    pub changes: BundleState,
    /// State changes up to and including each transaction, before Byzantium; receipts hold state roots there.
    pub steps: Vec<BundleState>,
}

/// Execute `block` on `state`. The changes are moved from `state` into the result.
pub fn run<D: Database>(
    spec: &ChainSpec,
    block: &UnverifiedBlock,
    state: &mut State<D>,
) -> Result<Executed, ExecutionError> {
    dao::move_balances(spec, &block.header, state)?;
    access_list::begin(spec, &block.header, state);
    let surroundings =
        surroundings(&block.header, &block.ommers, block.withdrawals.as_deref(), block.senders.len());
    let mut executor = executor(spec, &block.header, surroundings, &mut *state);
    executor.apply_pre_execution_changes().map_err(|reason| refused("system calls", reason))?;
    let has_steps = !spec.is_active(Fork::Byzantium, block.header.number);
    let mut steps = Vec::new();
    for (index, (transaction, sender)) in block.transactions.iter().zip(&block.senders).enumerate() {
        access_list::enter(executor.evm_mut().db_mut(), index + 1);
        let transaction = transaction.signed().ok_or_else(|| unexecutable(index, transaction))?;
        execute_transaction(&mut executor, transaction, *sender)
            .map_err(|reason| refused(&format!("transaction {index} to be valid"), reason))?;
        if has_steps {
            let state = executor.evm_mut().db_mut();
            state.merge_transitions(BundleRetention::PlainState);
            steps.push(state.bundle_state.clone());
        }
    }
    verify_system_contracts(spec, &block.header, executor.evm_mut().db_mut())?;
    access_list::enter(executor.evm_mut().db_mut(), block.transactions.len() + 1);
    let (_, result) = executor.finish().map_err(|reason| refused("requests and rewards", reason))?;
    state.merge_transitions(BundleRetention::PlainState);
    Ok(Executed {
        receipts: result.receipts,
        requests: result.requests,
        gas_used: result.gas_used,
        access_list: AccessList::take(state),
        changes: state.take_bundle(),
        steps,
    })
}

/// Check that the system contracts for requests have code (EIP-7002, EIP-7251).
fn verify_system_contracts<D: Database>(
    spec: &ChainSpec,
    header: &Header,
    state: &mut State<D>,
) -> Result<(), ExecutionError> {
    let active = FORKS.iter().filter(|row| spec.is_active_at(row.fork, header.number, header.timestamp));
    for address in active.flat_map(|row| row.request_contracts) {
        // This read bypasses the builder of the access list, because the check is not an access by the block.
        let account = state.basic(*address).map_err(Error::internal)?;
        if account.is_none_or(|account| account.is_empty_code_hash()) {
            let wanted = format!("code of the system contract {address}");
            return Err(RuleViolation::new(Rule::RequestsHash, wanted, "none").into());
        }
    }
    Ok(())
}

/// Return the context of a block's execution besides its transactions.
pub fn surroundings<'a>(
    header: &Header,
    ommers: &'a [Header],
    withdrawals: Option<&'a [Withdrawal]>,
    transactions: usize,
) -> EthBlockExecutionCtx<'a> {
    EthBlockExecutionCtx {
        parent_hash: header.parent_hash,
        parent_beacon_block_root: header.parent_beacon_block_root,
        ommers,
        withdrawals: withdrawals.map(Into::into),
        extra_data: header.extra_data.clone(),
        tx_count_hint: Some(transactions),
        slot_number: header.slot_number,
    }
}

/// Return the error of the block for an error of the executor.
pub fn refused(wanted: &str, reason: BlockExecutionError) -> ExecutionError {
    match reason {
        BlockExecutionError::Validation(reason) => {
            RuleViolation::new(Rule::Transaction, wanted, words(&reason)).into()
        }
        BlockExecutionError::Internal(InternalBlockExecutionError::EVM { error, .. }) => {
            ExecutionError::Engine(Error::internal(error))
        }
        BlockExecutionError::Internal(reason) => ExecutionError::Engine(Error::internal(reason)),
    }
}

/// Return the reason of an invalid transaction without the text around it.
pub fn words(reason: &BlockValidationError) -> String {
    match reason {
        BlockValidationError::InvalidTx { error, .. } => error.to_string(),
        other => other.to_string(),
    }
}

/// Set the state root after a transaction in its receipt, before Byzantium.
pub fn set_root(receipt: &mut ReceiptEnvelope, root: B256) {
    // Before Byzantium, all transactions were legacy transactions.
    if let ReceiptEnvelope::Legacy(with_bloom) = receipt {
        with_bloom.receipt.status = Eip658Value::PostState(root);
    }
}

/// Return the violation for a system transaction: its effects are unknown here.
fn unexecutable(index: usize, transaction: &Transaction) -> RuleViolation {
    let found = format!("transaction {index} of type {:#x}", transaction.kind());
    RuleViolation::new(Rule::TransactionType, "a type that can be executed", found)
}
