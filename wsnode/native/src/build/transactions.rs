//! Filling a new block with transactions.

use alloy_consensus::proofs::calculate_transaction_root;
use alloy_consensus::transaction::Recovered;
use alloy_consensus::{Header, ReceiptEnvelope, Transaction, TxEnvelope};
use alloy_eips::eip4895::Withdrawal;
use alloy_eips::eip7685::Requests;
use alloy_evm::block::{BlockExecutionError, BlockExecutor};
use alloy_evm::eth::receipt_builder::AlloyReceiptBuilder;
use alloy_evm::eth::EthBlockExecutor;
use alloy_evm::{Database, EvmFactory};
use alloy_primitives::{Address, B256};
use revm::database::states::bundle_state::BundleRetention;
use revm::database::{BundleState, State};

use crate::block::{decode_transaction, recover_transaction};
use crate::chain_spec::ChainSpec;
use crate::error::Error;
use crate::execute::{evm_environment, rules_of, surroundings, words};

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
}

/// Execute those of `encoded` that can be executed, in order, as the block of `header`.
pub fn fill<D: Database>(
    spec: &ChainSpec,
    header: &Header,
    withdrawals: &[Withdrawal],
    state: &mut State<D>,
    encoded: &[&[u8]],
) -> Result<Built, Error> {
    let evm = alloy_evm::EthEvmFactory::default().create_evm(&mut *state, evm_environment(spec, header));
    let surroundings = surroundings(header, &[], Some(withdrawals), encoded.len());
    let rules = rules_of(spec, header);
    let mut executor = EthBlockExecutor::new(evm, surroundings, rules, AlloyReceiptBuilder::default());
    executor.apply_pre_execution_changes().map_err(Error::internal)?;
    let (mut transactions, mut senders, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    let mut room = spec.blob_parameters(header.timestamp).map_or(0, |blobs| blobs.max_blob_gas_per_block());
    for (index, bytes) in encoded.iter().enumerate() {
        match include(spec, header.number, &mut executor, bytes, room)? {
            Ok((transaction, sender)) => {
                room -= transaction.blob_gas_used().unwrap_or(0);
                transactions.push(transaction);
                senders.push(sender);
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
    })
}

type Included = Result<(TxEnvelope, Address), String>;

/// Execute one transaction, or say why it cannot be in the block; then the state is as before.
fn include<E>(
    spec: &ChainSpec,
    number: u64,
    executor: &mut E,
    bytes: &[u8],
    room_for_blobs: u64,
) -> Result<Included, Error>
where
    E: BlockExecutor<Transaction = TxEnvelope>,
{
    let recovered = decode_transaction(bytes).and_then(|transaction| {
        let sender = recover_transaction(spec, number, &transaction, &mut Vec::new())?;
        Ok((transaction, sender))
    });
    let (transaction, sender) = match recovered {
        Ok(recovered) => recovered,
        Err(broken) => return Ok(Err(format!("expected {}, got {}", broken.expected, broken.actual))),
    };
    if transaction.blob_gas_used().unwrap_or(0) > room_for_blobs {
        return Ok(Err("no room for its blobs".into()));
    }
    match executor.execute_transaction(Recovered::new_unchecked(&transaction, sender)) {
        Ok(_) => Ok(Ok((transaction, sender))),
        Err(BlockExecutionError::Validation(reason)) => Ok(Err(words(&reason))),
        Err(BlockExecutionError::Internal(reason)) => Err(Error::internal(reason)),
    }
}
