//! Verification of a block with receipts, and of its state update, against the block's own hash.

use std::num::NonZero;
use std::thread;

use alloy_primitives::B256;
use starknet_types_core::felt::Felt;

use super::codec::{
    ExecutionStatus, FeeUnit, TransactionKind, TransactionWithReceipt, UnverifiedBlock, UnverifiedStateUpdate,
};
use super::commitments::{known_state_diff, state_diff_length, Commitments, Leaves};
use super::error::{check_felt, check_number, check_word, BlockError};
use super::hash::{block_hash, Contents};
use super::transaction_hash::{pays_in_fri, Hasher, MissingMember};
use super::version::{HashFormula, ProtocolVersion};
use crate::starknet::commitment::state_diff_commitment;
use crate::starknet::felts::short_string;

/// Transactions for each thread, at least: to start a thread costs as much as to hash one transaction.
const TRANSACTIONS_A_THREAD: usize = 4;

/// Values of a verified block that its hash proves, `old_root` excepted.
pub struct BlockProof {
    pub number: u64,
    pub hash: Felt,
    pub parent_hash: Felt,
    pub new_root: Felt,
    /// `old_root` of the state update, unproved: only the parent's hash covers it.
    pub old_root: Option<Felt>,
    pub formula: HashFormula,
    pub transaction_count: u64,
    pub event_count: u64,
    pub commitments: Commitments,
    /// Commitment to the state diff and its length; none if the formula does not cover the state diff.
    pub state_diff: Option<(Felt, u64)>,
    pub transaction_hashes: Vec<Felt>,
    pub derived: Vec<Derived>,
}

/// Member of a receipt that follows from its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Derived {
    Nothing,
    /// Address of the contract deployed by the transaction.
    Address(Felt),
    /// Hash of the message from Ethereum.
    MessageHash(B256),
}

/// Results of one verified transaction: its leaves, and the derived member of its receipt.
struct VerifiedTransaction {
    leaves: Leaves,
    derived: Derived,
}

/// Verify a result of `starknet_getBlockWithReceipts`, and of `starknet_getStateUpdate` if given; return the values.
///
/// Without a state update the header's own `state_diff_commitment` is used: the block hash proves it as well.
pub fn verify(block: &[u8], state_update: Option<&[u8]>, chain_id: Felt) -> Result<BlockProof, BlockError> {
    let (proof, sent_hash) = verify_unsealed(block, state_update, chain_id)?;
    check_felt(|| "block_hash".into(), proof.hash, sent_hash)?;
    Ok(proof)
}

/// Verify a block as `verify` does, but do not compare its hash. Return the proof with the computed hash, and
/// the hash that was sent.
///
/// If the two differ, only the transaction hashes and the members derived from them are proved.
pub fn verify_unsealed(
    block: &[u8],
    state_update: Option<&[u8]>,
    chain_id: Felt,
) -> Result<(BlockProof, Felt), BlockError> {
    let block = UnverifiedBlock::read(block)?;
    let update = state_update.map(UnverifiedStateUpdate::read).transpose()?;
    let version = ProtocolVersion::parse(&block.starknet_version)?;
    let formula = HashFormula::of(version, block.block_number, chain_id == short_string("SN_MAIN"));
    if let Some(update) = &update {
        check_felt(|| "state_update.block_hash".into(), block.block_hash, update.block_hash)?;
        check_felt(|| "state_update.new_root".into(), block.new_root, update.new_root)?;
    }
    let verified = verified_transactions(&block.transactions, version, chain_id)?;
    let (leaves, derived): (Vec<_>, Vec<_>) =
        verified.into_iter().map(|item| (item.leaves, item.derived)).unzip();
    let contents = Contents {
        transaction_count: leaves.len() as u64,
        event_count: leaves.iter().map(|leaves| leaves.events.len() as u64).sum(),
        commitments: Commitments::new(&leaves, version),
        state_diff: state_diff(&block, update.as_ref(), formula)?,
    };
    check_header(&block, &contents, formula)?;
    let hash = block_hash(&block, &contents, formula, chain_id)?;
    let proof = BlockProof {
        number: block.block_number,
        hash,
        parent_hash: block.parent_hash,
        new_root: block.new_root,
        old_root: update.map(|update| update.old_root),
        formula,
        transaction_count: contents.transaction_count,
        event_count: contents.event_count,
        commitments: contents.commitments,
        state_diff: formula.covers_receipts().then_some(contents.state_diff),
        transaction_hashes: block.transactions.iter().map(|item| item.receipt.transaction_hash).collect(),
        derived,
    };
    Ok((proof, block.block_hash))
}

/// Return commitment and length of the state diff, computed from the update, or else as sent in the header.
///
/// Both are zero if the formula does not cover the state diff.
fn state_diff(
    block: &UnverifiedBlock<'_>,
    update: Option<&UnverifiedStateUpdate>,
    formula: HashFormula,
) -> Result<(Felt, u64), BlockError> {
    if !formula.covers_receipts() {
        return Ok((Felt::ZERO, 0));
    }
    if let Some(update) = update {
        let (change, deprecated) = known_state_diff(&update.state_diff);
        let length = state_diff_length(&change, deprecated);
        return Ok((state_diff_commitment(&change, deprecated), length));
    }
    let missing = |member: &str| BlockError::malformed(member, "it is missing, and there is no state update");
    let commitment = block.state_diff_commitment.ok_or_else(|| missing("state_diff_commitment"))?;
    let length = block.state_diff_length.ok_or_else(|| missing("state_diff_length"))?;
    Ok((commitment, length))
}

/// Compare commitments and counts of the header, where it has them, with the computed ones.
///
/// In blocks before 0.13.2 a zero counts as absent, as some nodes send it there.
fn check_header(
    block: &UnverifiedBlock<'_>,
    contents: &Contents,
    formula: HashFormula,
) -> Result<(), BlockError> {
    let is_old = !formula.covers_receipts();
    let Contents { commitments, state_diff: (diff, length), .. } = contents;
    let mut felts = vec![
        ("transaction_commitment", block.transaction_commitment, commitments.transactions),
        ("event_commitment", block.event_commitment, commitments.events),
    ];
    let mut numbers = vec![
        ("transaction_count", block.transaction_count, contents.transaction_count),
        ("event_count", block.event_count, contents.event_count),
    ];
    if !is_old {
        felts.push(("receipt_commitment", block.receipt_commitment, commitments.receipts));
        felts.push(("state_diff_commitment", block.state_diff_commitment, *diff));
        numbers.push(("state_diff_length", block.state_diff_length, *length));
    }
    for (member, told, computed) in felts {
        let told = told.filter(|told| !is_old || *told != Felt::ZERO);
        check_felt(|| member.into(), computed, told.unwrap_or(computed))?;
    }
    for (member, told, computed) in numbers {
        let told = told.filter(|told| !is_old || *told != 0);
        check_number(member, computed, told.unwrap_or(computed))?;
    }
    Ok(())
}

/// Check all transactions and return their results in the block's order; from 8 transactions on all cores hash.
fn verified_transactions(
    transactions: &[TransactionWithReceipt<'_>],
    version: ProtocolVersion,
    chain_id: Felt,
) -> Result<Vec<VerifiedTransaction>, BlockError> {
    let check = |(index, item): (usize, &TransactionWithReceipt<'_>)| {
        let derived = check_transaction(TransactionIndex(index), item, chain_id)?;
        let leaves = Leaves::new(&item.transaction, &item.receipt, version);
        Ok(VerifiedTransaction { leaves, derived })
    };
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let workers = cores.min(transactions.len() / TRANSACTIONS_A_THREAD);
    if workers < 2 {
        return transactions.iter().enumerate().map(check).collect();
    }
    let items = transactions.iter().enumerate().collect::<Vec<_>>();
    let parts = thread::scope(|scope| {
        let share = items.len().div_ceil(workers);
        let threads = items
            .chunks(share)
            .map(|part| scope.spawn(|| part.iter().copied().map(check).collect::<Result<Vec<_>, _>>()))
            .collect::<Vec<_>>();
        threads.into_iter().map(|thread| thread.join().expect("hashing does not panic")).collect::<Vec<_>>()
    });
    Ok(parts.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// Index of a transaction in its block, for the paths in errors.
#[derive(Clone, Copy)]
struct TransactionIndex(usize);

impl TransactionIndex {
    fn transaction(self, member: &str) -> String {
        format!("transactions[{}].transaction.{member}", self.0)
    }

    fn receipt(self, member: &str) -> String {
        format!("transactions[{}].receipt.{member}", self.0)
    }

    fn missing(self, MissingMember(member): MissingMember) -> BlockError {
        BlockError::malformed(self.transaction(member), "it is missing")
    }
}

/// Check a transaction's hash and the members of its receipt that follow from it; return the derived member.
fn check_transaction(
    place: TransactionIndex,
    item: &TransactionWithReceipt<'_>,
    chain_id: Felt,
) -> Result<Derived, BlockError> {
    let TransactionWithReceipt { transaction, receipt } = item;
    let hasher = Hasher::new(transaction, chain_id);
    let told = receipt.transaction_hash;
    if let Some(hash) = transaction.transaction_hash {
        check_felt(|| place.transaction("transaction_hash"), told, hash)?;
    }
    let missing = |member| place.missing(member);
    let hash = hasher.hash().map_err(missing)?;
    if hash != told && !hasher.others().map_err(missing)?.contains(&told) {
        check_felt(|| place.receipt("transaction_hash"), hash, told)?;
    }
    check_word(|| place.receipt("type"), transaction.kind.name(), receipt.kind.name())?;
    let unit = |is_fri| if is_fri { "FRI" } else { "WEI" };
    let told_unit = unit(receipt.actual_fee.unit == FeeUnit::Fri);
    check_word(|| place.receipt("actual_fee.unit"), unit(pays_in_fri(transaction)), told_unit)?;
    if let (ExecutionStatus::Succeeded, Some(reason)) = (receipt.execution_status, &receipt.revert_reason) {
        check_word(|| place.receipt("revert_reason"), "none, as it succeeded", reason)?;
    }
    match transaction.kind {
        TransactionKind::Deploy | TransactionKind::DeployAccount => {
            let address = hasher.address().map_err(missing)?;
            check_address(place, address, item)?;
            Ok(Derived::Address(address))
        }
        TransactionKind::L1Handler => {
            let message = B256::from(hasher.message_hash().map_err(missing)?);
            let told = receipt.message_hash.as_ref().map(|told| told.to_lowercase());
            let hash = message.to_string();
            check_word(|| place.receipt("message_hash"), &hash, told.as_deref().unwrap_or(&hash))?;
            Ok(Derived::MessageHash(message))
        }
        TransactionKind::Invoke | TransactionKind::Declare => Ok(Derived::Nothing),
    }
}

/// Compare the computed address of a deployed contract with each member that has it, where present.
fn check_address(
    place: TransactionIndex,
    address: Felt,
    item: &TransactionWithReceipt<'_>,
) -> Result<(), BlockError> {
    let TransactionWithReceipt { transaction, receipt } = item;
    for (member, told) in [
        (place.transaction("sender_address"), transaction.sender_address),
        (place.transaction("contract_address"), transaction.contract_address),
        (place.receipt("contract_address"), receipt.contract_address),
    ] {
        check_felt(|| member, address, told.unwrap_or(address))?;
    }
    Ok(())
}
