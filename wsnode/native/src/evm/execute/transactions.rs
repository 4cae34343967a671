//! A block's transactions and what the protocol does before and after them.

use alloy_consensus::{Eip658Value, Header, ReceiptEnvelope};
use alloy_eips::eip4895::Withdrawal;
use alloy_eips::eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS;
use alloy_eips::eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS;
use alloy_eips::eip7685::Requests;
use alloy_evm::block::{
    BlockExecutionError, BlockExecutor, BlockValidationError, InternalBlockExecutionError,
};
use alloy_evm::eth::EthBlockExecutionCtx;
use alloy_evm::{Database, Evm};
use alloy_hardforks::EthereumHardforks;
use alloy_primitives::B256;
use revm::database::states::bundle_state::BundleRetention;
use revm::database::{BundleState, State};
use revm::Database as _;

use super::dao;
use super::executor::{execute_transaction, executor};
use super::Fault;
use crate::error::{Broken, Error, Rule};
use crate::evm::block::UnverifiedBlock;
use crate::evm::chain_spec::{ChainSpec, Fork, Rules};
use crate::evm::environment::rules_of;

/// What the execution of a block brought forth.
#[derive(Debug)]
pub struct Executed {
    pub receipts: Vec<ReceiptEnvelope>,
    pub requests: Requests,
    pub gas_used: u64,
    pub changes: BundleState,
    /// Before Byzantium, the changes up to each transaction: its receipt holds the root of the state with them.
    pub steps: Vec<BundleState>,
}

/// Execute `block` on `state`, whose changes are taken out of it.
pub fn run<D: Database>(
    spec: &ChainSpec,
    block: &UnverifiedBlock,
    state: &mut State<D>,
) -> Result<Executed, Fault> {
    dao::move_balances(spec, &block.header, state)?;
    let surroundings =
        surroundings(&block.header, &block.ommers, block.withdrawals.as_deref(), block.senders.len());
    let mut executor = executor(spec, &block.header, surroundings, &mut *state);
    executor.apply_pre_execution_changes().map_err(|reason| refused("system calls", reason))?;
    let has_steps = !spec.is_active(Fork::Byzantium, block.header.number);
    let mut steps = Vec::new();
    for (index, (transaction, sender)) in block.transactions.iter().zip(&block.senders).enumerate() {
        execute_transaction(&mut executor, transaction, *sender)
            .map_err(|reason| refused(&format!("transaction {index} to be valid"), reason))?;
        if has_steps {
            let state = executor.evm_mut().db_mut();
            state.merge_transitions(BundleRetention::PlainState);
            steps.push(state.bundle_state.clone());
        }
    }
    verify_system_contracts(&rules_of(spec, &block.header), &block.header, executor.evm_mut().db_mut())?;
    let (_, result) = executor.finish().map_err(|reason| refused("requests and rewards", reason))?;
    state.merge_transitions(BundleRetention::PlainState);
    Ok(Executed {
        receipts: result.receipts,
        requests: result.requests,
        gas_used: result.gas_used,
        changes: state.take_bundle(),
        steps,
    })
}

/// From Prague on, the contracts that are asked for requests at the end of a block must be there.
fn verify_system_contracts<D: Database>(
    rules: &Rules<'_>,
    header: &Header,
    state: &mut State<D>,
) -> Result<(), Fault> {
    if !rules.is_prague_active_at_timestamp(header.timestamp) {
        return Ok(());
    }
    for address in [WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS] {
        let account = state.basic(address).map_err(Error::internal)?;
        if account.is_none_or(|account| account.is_empty_code_hash()) {
            let wanted = format!("code of the system contract {address}");
            return Err(Broken::new(Rule::RequestsHash, wanted, "none").into());
        }
    }
    Ok(())
}

/// What a block gives its executor besides transactions.
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
        slot_number: None,
    }
}

/// What an error of the executor says about the block.
pub fn refused(wanted: &str, reason: BlockExecutionError) -> Fault {
    match reason {
        BlockExecutionError::Validation(reason) => {
            Broken::new(Rule::Transaction, wanted, words(&reason)).into()
        }
        BlockExecutionError::Internal(InternalBlockExecutionError::EVM { error, .. }) => {
            Fault::Engine(Error::internal(error))
        }
        BlockExecutionError::Internal(reason) => Fault::Engine(Error::internal(reason)),
    }
}

/// The reason without what is said around it.
pub fn words(reason: &BlockValidationError) -> String {
    match reason {
        BlockValidationError::InvalidTx { error, .. } => error.to_string(),
        other => other.to_string(),
    }
}

/// Put the state root after its transaction into a receipt.
pub fn set_root(receipt: &mut ReceiptEnvelope, root: B256) {
    // Transactions of other types came after Byzantium.
    if let ReceiptEnvelope::Legacy(with_bloom) = receipt {
        with_bloom.receipt.status = Eip658Value::PostState(root);
    }
}
