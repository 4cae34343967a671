//! Execution of transactions in a new block.

use std::fmt::Debug;

use alloy_consensus::proofs::calculate_transaction_root;
use alloy_consensus::{Header, ReceiptEnvelope, Transaction, TxEnvelope};
use alloy_eips::eip7685::Requests;
use alloy_evm::block::{BlockExecutionError, BlockExecutor};
use alloy_evm::Evm;
use alloy_primitives::{Address, B256};
use revm::database::states::bundle_state::BundleRetention;
use revm::database::{BundleState, State};
use revm::DatabaseRef;

use super::arbos_guard::ArbosGuard;
use super::{requests, BlockAttributes};
use crate::error::{Error, Rule, RuleViolation};
use crate::evm::block::impersonated_sender;
use crate::evm::block::{decode_transaction, recover_transaction};
use crate::evm::chain_spec::{ChainSpec, Fork};
use crate::evm::execute::{
    access_list, execute_transaction, executor, surroundings, words, AccessList, Executor,
};
use crate::evm::rules::verify_transaction_gas;
use crate::state::StateError;

/// Transaction for a new block, in the encoding of a block's body.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    pub encoded: &'a [u8],
    /// Impersonated sender of an unsigned transaction; its placeholder must name the same address.
    pub impersonated: Option<Address>,
}

/// Index of a refused transaction, and the reason.
pub type Refused = (usize, String);

/// Content of a new block.
#[derive(Debug)]
pub struct Built {
    pub transactions: Vec<TxEnvelope>,
    pub senders: Vec<Address>,
    pub transactions_root: B256,
    pub receipts: Vec<ReceiptEnvelope>,
    pub requests: Requests,
    /// Error messages of failed system contracts, whose requests the block lacks.
    pub failed_calls: Vec<String>,
    pub gas_used: u64,
    pub blob_gas_used: u64,
    /// Block access list, from Amsterdam on.
    pub access_list: Option<AccessList>,
    pub changes: BundleState,
    pub refused: Vec<Refused>,
    /// State changes up to and including each transaction, before Byzantium; receipts hold state roots there.
    pub steps: Vec<BundleState>,
}

/// Execute `candidates` in order as transactions of the block of `header`; return its content, with the
/// candidates that could not be executed as `refused`.
pub fn fill<V: DatabaseRef<Error = StateError> + Debug>(
    spec: &ChainSpec,
    header: &Header,
    attributes: &BlockAttributes,
    state: &mut State<ArbosGuard<V>>,
    candidates: &[Candidate<'_>],
) -> Result<Built, Error> {
    let surroundings = surroundings(header, &[], Some(&attributes.withdrawals), candidates.len());
    access_list::begin(spec, header, state);
    let mut executor = executor(spec, header, surroundings, &mut *state);
    executor.apply_pre_execution_changes().map_err(Error::internal)?;
    let (mut transactions, mut senders, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    let (has_steps, mut steps) = (!spec.is_active(Fork::Byzantium, header.number), Vec::new());
    let mut room = spec.blob_parameters(header.timestamp).map_or(0, |blobs| blobs.max_blob_gas_per_block());
    for (index, candidate) in candidates.iter().enumerate() {
        access_list::enter(executor.evm_mut().db_mut(), transactions.len() + 1);
        match include(spec, header, &mut executor, candidate, room)? {
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
    access_list::enter(executor.evm_mut().db_mut(), transactions.len() + 1);
    let (requests, failed_calls) = requests::collect(&mut executor, header, attributes.may_lack_requests)?;
    let (_, result) = executor.finish().map_err(Error::internal)?;
    state.merge_transitions(BundleRetention::PlainState);
    Ok(Built {
        transactions_root: calculate_transaction_root(&transactions),
        transactions,
        senders,
        receipts: result.receipts,
        requests,
        failed_calls,
        gas_used: result.gas_used,
        blob_gas_used: result.blob_gas_used,
        access_list: AccessList::take(state),
        changes: state.take_bundle(),
        refused,
        steps,
    })
}

type Included = Result<(TxEnvelope, Address), String>;

/// Execute one transaction and return it with its sender, or the reason of its refusal. After a refusal the
/// state is unchanged.
fn include<V: DatabaseRef<Error = StateError> + Debug>(
    spec: &ChainSpec,
    header: &Header,
    executor: &mut Executor<'_, ArbosGuard<V>>,
    candidate: &Candidate<'_>,
    room_for_blobs: u64,
) -> Result<Included, Error> {
    let (transaction, sender) = match read(spec, header, candidate) {
        Ok(read) => read,
        Err(violation) => {
            return Ok(Err(format!("expected {}, got {}", violation.expected, violation.actual)))
        }
    };
    if transaction.blob_gas_used().unwrap_or(0) > room_for_blobs {
        return Ok(Err("no room for its blobs".into()));
    }
    match execute_transaction(executor, &transaction, sender) {
        Ok(()) => Ok(Ok((transaction, sender))),
        Err(BlockExecutionError::Validation(reason)) => Ok(Err(words(&reason))),
        Err(BlockExecutionError::Internal(reason)) => {
            let refusal = executor.evm_mut().db_mut().database.take_refusal();
            refusal.map(|refusal| Err(refusal.to_string())).ok_or_else(|| Error::internal(reason))
        }
    }
}

fn read(
    spec: &ChainSpec,
    header: &Header,
    candidate: &Candidate<'_>,
) -> Result<(TxEnvelope, Address), RuleViolation> {
    let transaction = decode_transaction(candidate.encoded)?;
    verify_transaction_gas(spec, header, &transaction)?;
    let Some(sender) = candidate.impersonated else {
        let sender = recover_transaction(spec, header.number, &transaction, &mut Vec::new())?;
        return Ok((transaction, sender));
    };
    let named = impersonated_sender(transaction.signature());
    if named != Some(sender) {
        let named = named.map_or("a signature".into(), |named| named.to_string());
        return Err(RuleViolation::new(Rule::TransactionSignature, format!("the name of {sender}"), named));
    }
    Ok((transaction, sender))
}
