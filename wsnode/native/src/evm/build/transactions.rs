//! Filling a new block with transactions.

use alloy_consensus::proofs::calculate_transaction_root;
use alloy_consensus::{Header, ReceiptEnvelope, Transaction, TxEnvelope};
use alloy_eips::eip4895::Withdrawal;
use alloy_eips::eip7685::Requests;
use alloy_evm::block::{BlockExecutionError, BlockExecutor};
use alloy_evm::{Database, Evm};
use alloy_primitives::{Address, B256};
use revm::database::states::bundle_state::BundleRetention;
use revm::database::{BundleState, State};

use crate::error::{Broken, Error, Rule};
use crate::evm::block::impersonated_sender;
use crate::evm::block::{decode_transaction, recover_transaction};
use crate::evm::chain_spec::{ChainSpec, Fork};
use crate::evm::execute::{execute_transaction, executor, surroundings, words, Executor};

/// A transaction that may be in the block, as blocks hold it.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    pub encoded: &'a [u8],
    /// The impersonated sender of an unsigned transaction; its placeholder must name it too.
    pub impersonated: Option<Address>,
}

/// A transaction that was left out: its index, and why.
pub type Refused = (usize, String);

/// A block's content.
#[derive(Debug)]
pub struct Built {
    pub transactions: Vec<TxEnvelope>,
    pub senders: Vec<Address>,
    pub transactions_root: B256,
    pub receipts: Vec<ReceiptEnvelope>,
    pub requests: Requests,
    pub gas_used: u64,
    pub blob_gas_used: u64,
    pub changes: BundleState,
    pub refused: Vec<Refused>,
    /// Before Byzantium, the changes up to each transaction: its receipt holds the root of the state with them.
    pub steps: Vec<BundleState>,
}

/// Execute those of `candidates` that can be executed, in order, as the block of `header`.
pub fn fill<D: Database>(
    spec: &ChainSpec,
    header: &Header,
    withdrawals: &[Withdrawal],
    state: &mut State<D>,
    candidates: &[Candidate<'_>],
) -> Result<Built, Error> {
    let surroundings = surroundings(header, &[], Some(withdrawals), candidates.len());
    let mut executor = executor(spec, header, surroundings, &mut *state);
    executor.apply_pre_execution_changes().map_err(Error::internal)?;
    let (mut transactions, mut senders, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    let (has_steps, mut steps) = (!spec.is_active(Fork::Byzantium, header.number), Vec::new());
    let mut room = spec.blob_parameters(header.timestamp).map_or(0, |blobs| blobs.max_blob_gas_per_block());
    for (index, candidate) in candidates.iter().enumerate() {
        match include(spec, header.number, &mut executor, candidate, room)? {
            Ok((transaction, sender)) => {
                room -= transaction.blob_gas_used().unwrap_or(0);
                transactions.push(transaction);
                senders.push(sender);
                if has_steps {
                    let state = executor.evm_mut().db_mut();
                    state.merge_transitions(BundleRetention::PlainState);
                    steps.push(state.bundle_state.clone());
                }
            }
            Err(reason) => refused.push((index, reason)),
        }
    }
    let (_, result) = executor.finish().map_err(Error::internal)?;
    state.merge_transitions(BundleRetention::PlainState);
    Ok(Built {
        transactions_root: calculate_transaction_root(&transactions),
        transactions,
        senders,
        receipts: result.receipts,
        requests: result.requests,
        gas_used: result.gas_used,
        blob_gas_used: result.blob_gas_used,
        changes: state.take_bundle(),
        refused,
        steps,
    })
}

type Included = Result<(TxEnvelope, Address), String>;

/// Execute one transaction, or say why it cannot be in the block; then the state is as before.
fn include<D: Database>(
    spec: &ChainSpec,
    number: u64,
    executor: &mut Executor<'_, D>,
    candidate: &Candidate<'_>,
    room_for_blobs: u64,
) -> Result<Included, Error> {
    let (transaction, sender) = match read(spec, number, candidate) {
        Ok(read) => read,
        Err(broken) => return Ok(Err(format!("expected {}, got {}", broken.expected, broken.actual))),
    };
    if transaction.blob_gas_used().unwrap_or(0) > room_for_blobs {
        return Ok(Err("no room for its blobs".into()));
    }
    match execute_transaction(executor, &transaction, sender) {
        Ok(()) => Ok(Ok((transaction, sender))),
        Err(BlockExecutionError::Validation(reason)) => Ok(Err(words(&reason))),
        Err(BlockExecutionError::Internal(reason)) => Err(Error::internal(reason)),
    }
}

/// The transaction and its sender.
fn read(spec: &ChainSpec, number: u64, candidate: &Candidate<'_>) -> Result<(TxEnvelope, Address), Broken> {
    let transaction = decode_transaction(candidate.encoded)?;
    let Some(sender) = candidate.impersonated else {
        let sender = recover_transaction(spec, number, &transaction, &mut Vec::new())?;
        return Ok((transaction, sender));
    };
    let named = impersonated_sender(transaction.signature());
    if named != Some(sender) {
        let named = named.map_or("a signature".into(), |named| named.to_string());
        return Err(Broken::new(Rule::TransactionSignature, format!("the name of {sender}"), named));
    }
    Ok((transaction, sender))
}
