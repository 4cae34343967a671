//! Rules of a pooled transaction that need no state, in geth's order.

use alloy_consensus::{Header, Transaction, TxEnvelope, Typed2718};
use revm::primitives::hardfork::SpecId;

use super::{gas, refuse, PooledTransaction};
use crate::error::Error;
use crate::evm::chain_spec::{ChainSpec, Rules};

/// Unit of geth's bounds of a transaction's length, in bytes. A transaction may have four units, or a
/// mebibyte with blobs.
const SLOT: usize = 32 * 1024;
const MAX_BYTES: usize = 4 * SLOT;
const MAX_BYTES_WITH_BLOBS: usize = 1024 * 1024;

/// Requirements of the pool beyond the rules of the chain.
#[derive(Debug, Clone, Copy, Default)]
pub struct Terms {
    pub minimum_tip: u128,
    /// True if a block included the transaction, so that its blobs are not needed again.
    pub was_included: bool,
    /// True if its blobs are kept until they are taken.
    pub keeps_blobs: bool,
    /// Gas limit of the next block, if it is decided. By default it is the head's, as in geth.
    pub gas_limit: Option<u64>,
}

/// Refuse a transaction that is invalid in every block after `head`, or against the pool's own terms.
pub fn check(
    spec: &ChainSpec,
    head: &Header,
    transaction: &PooledTransaction,
    terms: Terms,
) -> Result<(), Error> {
    let envelope = &transaction.envelope;
    let rules = rules_after(spec, head);
    let initcode_limit = spec.initcode_limit(rules);
    check_size(transaction, initcode_limit)?;
    check_type(envelope, rules)?;
    check_init_code(envelope, rules, initcode_limit)?;
    gas::check_cap(envelope, rules)?;
    if terms.gas_limit.unwrap_or(head.gas_limit) < envelope.gas_limit() {
        return Err(refuse("gas_limit", "exceeds block gas limit"));
    }
    check_order(envelope)?;
    if envelope.nonce() == u64::MAX {
        return Err(refuse("nonce", "nonce has max value"));
    }
    gas::check_needed(envelope, transaction.sender, rules)?;
    check_tip(envelope, terms.minimum_tip)?;
    check_lists(transaction, terms)
}

/// Return the rules of the next block at the head's time, because the next block's time is unknown.
fn rules_after(spec: &ChainSpec, head: &Header) -> SpecId {
    let is_proof_of_stake = head.difficulty.is_zero() || spec.is_proof_of_stake_after(head);
    Rules::new(spec, is_proof_of_stake).evm(head.number + 1, head.timestamp)
}

fn check_size(transaction: &PooledTransaction, initcode_limit: usize) -> Result<(), Error> {
    let limit = match transaction.envelope.is_eip4844() {
        true => MAX_BYTES_WITH_BLOBS,
        // On a chain with a higher limit of init code, the transaction that carries the init code may be
        // larger, too.
        false => MAX_BYTES.max(initcode_limit.saturating_add(SLOT)),
    };
    if transaction.size > limit {
        let size = transaction.size;
        return Err(refuse("size", format!("oversized data: transaction size {size}, limit {limit}")));
    }
    Ok(())
}

fn check_type(envelope: &TxEnvelope, rules: SpecId) -> Result<(), Error> {
    let (fork, name) = match envelope.ty() {
        0 => return Ok(()),
        2 if rules.is_enabled_in(SpecId::BERLIN) => (SpecId::LONDON, "London"),
        3 if rules.is_enabled_in(SpecId::BERLIN) => (SpecId::CANCUN, "Cancun"),
        4 if rules.is_enabled_in(SpecId::BERLIN) => (SpecId::PRAGUE, "Prague"),
        _ => (SpecId::BERLIN, "Berlin"),
    };
    if rules.is_enabled_in(fork) {
        return Ok(());
    }
    let words = "transaction type not supported";
    let kind = envelope.ty();
    Err(refuse("transaction_type", format!("{words}: type {kind} rejected, pool not yet in {name}")))
}

fn check_init_code(envelope: &TxEnvelope, rules: SpecId, limit: usize) -> Result<(), Error> {
    let size = envelope.input().len();
    if envelope.is_create() && rules.is_enabled_in(SpecId::SHANGHAI) && size > limit {
        let words = "max initcode size exceeded";
        return Err(refuse("initcode_size", format!("{words}: code size {size} limit {limit}")));
    }
    Ok(())
}

/// Check the members of blob transactions and of transactions that set code.
fn check_lists(transaction: &PooledTransaction, terms: Terms) -> Result<(), Error> {
    match &transaction.envelope {
        TxEnvelope::Eip4844(_) => {
            check_blob_fee(&transaction.envelope)?;
            transaction.check_sidecar(terms.was_included, terms.keeps_blobs)
        }
        TxEnvelope::Eip7702(signed) if signed.tx().authorization_list.is_empty() => {
            Err(refuse("empty_authorizations", "set code tx must have at least one authorization tuple"))
        }
        _ => Ok(()),
    }
}

/// Check that the tip is not above the whole fee.
fn check_order(envelope: &TxEnvelope) -> Result<(), Error> {
    if envelope.max_fee_per_gas() < tip(envelope) {
        return Err(refuse("tip_above_fee", "max priority fee per gas higher than max fee per gas"));
    }
    Ok(())
}

/// Check that the tip is at least the pool's minimum, in wei per gas.
fn check_tip(envelope: &TxEnvelope, minimum: u128) -> Result<(), Error> {
    check_minimum("gas tip cap", tip(envelope), minimum)
}

/// Check that the blob fee is at least 1 wei, the lowest price of blob gas.
fn check_blob_fee(envelope: &TxEnvelope) -> Result<(), Error> {
    check_minimum("blob fee cap", envelope.max_fee_per_blob_gas().unwrap_or(1), 1)
}

fn tip(envelope: &TxEnvelope) -> u128 {
    envelope.max_priority_fee_per_gas().unwrap_or_else(|| envelope.max_fee_per_gas())
}

fn check_minimum(name: &str, offered: u128, minimum: u128) -> Result<(), Error> {
    if offered < minimum {
        let words = "transaction gas price below minimum";
        return Err(refuse("underpriced", format!("{words}: {name} {offered}, minimum needed {minimum}")));
    }
    Ok(())
}
