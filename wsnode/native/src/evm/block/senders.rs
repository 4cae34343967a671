//! Recovery of senders from signatures, on all cores.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use alloy_consensus::crypto::secp256k1::recover_signer_unchecked;
use alloy_consensus::crypto::SECP256K1N_HALF;
use alloy_consensus::{SignableTransaction, Transaction as _, TxEnvelope};
use alloy_primitives::{Address, Signature, B256};

use super::impersonation::impersonated_sender;
use super::known::known_sender;
use super::Decoded;
use crate::chain::rows::Transaction;
use crate::error::{InvalidBlock, Rule, RuleViolation};
use crate::evm::chain_spec::{ChainSpec, Fork};

/// Number of transactions whose senders a thread recovers at a time, in some 1.3 ms.
const PIECE: usize = 32;

type RecoveredSenders = Result<Vec<Address>, InvalidBlock>;

/// Decision whether a transaction may name its sender in place of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnsignedPolicy {
    Refused,
    /// Accepted, as in blocks of development chains.
    Accepted,
}

/// Return the senders of each block before the first one with a bad signature, and that block's violation, or
/// None.
///
/// A signature takes 42 us. This is the largest cost of an import, and the only one that can be spread over
/// any number of cores.
pub fn recover_all(
    spec: &ChainSpec,
    blocks: &[Decoded],
    unsigned: UnsignedPolicy,
) -> (Vec<Vec<Address>>, Option<InvalidBlock>) {
    let mut recovered = Vec::with_capacity(blocks.len());
    for senders in recover_in_parallel(spec, blocks, unsigned) {
        match senders {
            Ok(senders) => recovered.push(senders),
            Err(invalid) => return (recovered, Some(invalid)),
        }
    }
    (recovered, None)
}

/// Return, for each block, its senders or its first violation.
fn recover_in_parallel(
    spec: &ChainSpec,
    blocks: &[Decoded],
    unsigned: UnsignedPolicy,
) -> Vec<RecoveredSenders> {
    let pieces: Vec<Piece<'_>> =
        blocks.iter().enumerate().flat_map(|block| pieces_of(block, unsigned)).collect();
    let mut senders: Vec<RecoveredSenders> = blocks.iter().map(|_| Ok(Vec::new())).collect();
    for (piece, found) in pieces.iter().zip(recover_pieces(spec, &pieces)) {
        let block = &mut senders[piece.index];
        match (block.as_mut(), found) {
            (Ok(all), Ok(some)) => all.extend(some),
            (Ok(_), Err(invalid)) => *block = Err(invalid),
            (Err(_), _) => {}
        }
    }
    senders
}

/// Consecutive transactions of the block at an index.
struct Piece<'b> {
    index: usize,
    block: &'b Decoded,
    transactions: &'b [Transaction],
    unsigned: UnsignedPolicy,
}

fn pieces_of((index, block): (usize, &Decoded), unsigned: UnsignedPolicy) -> impl Iterator<Item = Piece<'_>> {
    let pieces = block.transactions.chunks(PIECE);
    pieces.map(move |transactions| Piece { index, block, transactions, unsigned })
}

/// Return the senders of each piece, in the order of `pieces`.
fn recover_pieces(spec: &ChainSpec, pieces: &[Piece<'_>]) -> Vec<RecoveredSenders> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get).min(pieces.len());
    if workers < 2 || are_few_unknown(pieces) {
        return pieces.iter().map(|piece| recover_piece(spec, piece)).collect();
    }
    let next = AtomicUsize::new(0);
    let take = || {
        let index = next.fetch_add(1, Ordering::Relaxed);
        pieces.get(index).map(|piece| (index, recover_piece(spec, piece)))
    };
    let mut found: Vec<(usize, RecoveredSenders)> = thread::scope(|scope| {
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

/// Return whether fewer than `PIECE` senders are unknown: starting threads would then take longer than the
/// recovery.
fn are_few_unknown(pieces: &[Piece<'_>]) -> bool {
    let transactions = pieces.iter().flat_map(|piece| piece.transactions).filter_map(Transaction::signed);
    transactions.filter(|transaction| known_sender(transaction).is_none()).take(PIECE).count() < PIECE
}

fn recover_piece(spec: &ChainSpec, piece: &Piece<'_>) -> RecoveredSenders {
    let (number, hash) = (piece.block.header.number, piece.block.hash);
    let mut buffer = Vec::with_capacity(512);
    piece
        .transactions
        .iter()
        .map(|transaction| match transaction {
            Transaction::System(system) => Ok(system.sender),
            Transaction::Signed(signed) => match named_sender(signed, piece.unsigned) {
                Some(sender) => Ok(sender),
                None => recover_transaction(spec, number, signed, &mut buffer),
            },
        })
        .collect::<Result<_, _>>()
        .map_err(|violation| violation.in_block(Some(number), Some(hash)))
}

/// Return the sender that an unsigned transaction names, or None if it is signed or such transactions are
/// refused.
fn named_sender(transaction: &TxEnvelope, unsigned: UnsignedPolicy) -> Option<Address> {
    match unsigned {
        UnsignedPolicy::Refused => None,
        UnsignedPolicy::Accepted => impersonated_sender(transaction.signature()),
    }
}

/// Return the sender of a transaction in block `number`, by the rules for signatures at that number.
pub fn recover_transaction(
    spec: &ChainSpec,
    number: u64,
    transaction: &TxEnvelope,
    buffer: &mut Vec<u8>,
) -> Result<Address, RuleViolation> {
    let signature = transaction.signature();
    if spec.is_active(Fork::Homestead, number) && signature.s() > SECP256K1N_HALF {
        return Err(bad_signature("s of at most half the curve's order", signature.s()));
    }
    if let Some(chain_id) = transaction.chain_id() {
        check_chain(spec, number, chain_id)?;
    }
    // `known_sender` also computes the transaction's hash on this thread, and the transaction caches the
    // hash.
    if let Some(sender) = known_sender(transaction) {
        return Ok(sender);
    }
    recover(signature, signing_hash(transaction, buffer))
        .ok_or_else(|| bad_signature("a signature of the transaction", transaction.tx_hash()))
}

fn check_chain(spec: &ChainSpec, number: u64, chain_id: u64) -> Result<(), RuleViolation> {
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

fn bad_signature(expected: impl std::fmt::Display, actual: impl std::fmt::Display) -> RuleViolation {
    RuleViolation::new(Rule::TransactionSignature, expected, actual)
}
