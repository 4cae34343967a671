//! Senders, recovered from signatures on all cores.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use alloy_consensus::crypto::secp256k1::recover_signer_unchecked;
use alloy_consensus::crypto::SECP256K1N_HALF;
use alloy_consensus::{SignableTransaction, Transaction, TxEnvelope};
use alloy_primitives::{Address, Signature, B256};

use super::Decoded;
use crate::error::{Broken, InvalidBlock, Rule};
use crate::evm::chain_spec::{ChainSpec, Fork};

type Senders = Result<Vec<Address>, InvalidBlock>;

/// The senders of each block before the first with a bad signature, and what is wrong with that one.
///
/// 42 us a signature make this the largest single cost of an import, and the only one that parallelises at will.
pub fn recover_all(spec: &ChainSpec, blocks: &[Decoded]) -> (Vec<Vec<Address>>, Option<InvalidBlock>) {
    let mut recovered = Vec::with_capacity(blocks.len());
    for senders in recover_in_parallel(spec, blocks) {
        match senders {
            Ok(senders) => recovered.push(senders),
            Err(invalid) => return (recovered, Some(invalid)),
        }
    }
    (recovered, None)
}

fn recover_in_parallel(spec: &ChainSpec, blocks: &[Decoded]) -> Vec<Senders> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get).min(blocks.len());
    if workers < 2 {
        return blocks.iter().map(|block| recover_block(spec, block)).collect();
    }
    let next = AtomicUsize::new(0);
    let take = || {
        let index = next.fetch_add(1, Ordering::Relaxed);
        blocks.get(index).map(|block| (index, recover_block(spec, block)))
    };
    let mut found: Vec<(usize, Senders)> = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..workers).map(|_| scope.spawn(|| std::iter::from_fn(take).collect::<Vec<_>>())).collect();
        threads
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    });
    found.sort_unstable_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, senders)| senders).collect()
}

fn recover_block(spec: &ChainSpec, block: &Decoded) -> Senders {
    let (number, hash) = (block.header.number, block.hash);
    let mut buffer = Vec::with_capacity(512);
    block
        .transactions
        .iter()
        .map(|transaction| recover_transaction(spec, number, transaction, &mut buffer))
        .collect::<Result<_, _>>()
        .map_err(|broken| broken.by(Some(number), Some(hash)))
}

/// The sender of a transaction of block `number`, whose rules decide which signatures count.
pub fn recover_transaction(
    spec: &ChainSpec,
    number: u64,
    transaction: &TxEnvelope,
    buffer: &mut Vec<u8>,
) -> Result<Address, Broken> {
    let signature = transaction.signature();
    if spec.is_active(Fork::Homestead, number) && signature.s() > SECP256K1N_HALF {
        return Err(bad_signature("s of at most half the curve's order", signature.s()));
    }
    if let Some(chain_id) = transaction.chain_id() {
        check_chain(spec, number, chain_id)?;
    }
    // Also puts the transaction's hash into its cache while it is this thread's turn.
    let _ = transaction.tx_hash();
    recover(signature, signing_hash(transaction, buffer))
        .ok_or_else(|| bad_signature("a signature of the transaction", transaction.tx_hash()))
}

fn check_chain(spec: &ChainSpec, number: u64, chain_id: u64) -> Result<(), Broken> {
    if !spec.is_active(Fork::ReplayProtection, number) {
        return Err(bad_signature("no chain id before replay protection", chain_id));
    }
    let expected = spec.chain_id_at(number);
    if chain_id != expected {
        return Err(bad_signature(format!("chain id {expected}"), chain_id));
    }
    Ok(())
}

fn signing_hash(transaction: &TxEnvelope, buffer: &mut Vec<u8>) -> B256 {
    buffer.clear();
    match transaction {
        TxEnvelope::Legacy(signed) => signed.tx().encode_for_signing(buffer),
        TxEnvelope::Eip2930(signed) => signed.tx().encode_for_signing(buffer),
        TxEnvelope::Eip1559(signed) => signed.tx().encode_for_signing(buffer),
        TxEnvelope::Eip4844(signed) => signed.tx().encode_for_signing(buffer),
        TxEnvelope::Eip7702(signed) => signed.tx().encode_for_signing(buffer),
    }
    alloy_primitives::keccak256(buffer)
}

fn recover(signature: &Signature, hash: B256) -> Option<Address> {
    recover_signer_unchecked(signature, hash).ok()
}

fn bad_signature(expected: impl std::fmt::Display, actual: impl std::fmt::Display) -> Broken {
    Broken::new(Rule::TransactionSignature, expected, actual)
}
