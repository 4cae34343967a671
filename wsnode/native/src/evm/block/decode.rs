//! Blocks decoded from RLP. An encoding that is not canonical is refused.

use alloy_consensus::proofs::{calculate_withdrawals_root, ordered_trie_root_encoded};
use alloy_consensus::{Header, TxEip4844Variant, TxEnvelope, Typed2718};
use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{keccak256, Address, B256};
use alloy_rlp::{Decodable, Header as RlpHeader, PayloadView};

use super::senders::{recover_all, UnsignedPolicy};
use super::{Decoded, UnverifiedBlock};
use crate::chain::rows::transaction::system::{SystemTransaction, SystemType};
use crate::chain::rows::{encode_body_of, encode_header, with_deposits, BodyRow, HeaderRow, Transaction};
use crate::error::{require_equal, Error, InvalidBlock, Rule, RuleViolation};
use crate::evm::chain_spec::{blob_base_fee, ChainSpec, Family, WithdrawalsRoot, HEADER_MEMBERS};

/// Return the blocks before the first malformed one, and the violation of the malformed block, or None.
pub fn decode_blocks(
    spec: &ChainSpec,
    encoded: &[&[u8]],
    unsigned: UnsignedPolicy,
) -> (Vec<UnverifiedBlock>, Option<InvalidBlock>) {
    let mut decoded = Vec::with_capacity(encoded.len());
    let mut malformed = None;
    for block in encoded {
        match decode(block, |number| spec.family_at(number)) {
            Ok(block) => decoded.push(block),
            Err(invalid) => {
                malformed = Some(invalid);
                break;
            }
        }
    }
    let (senders, mistaken) = recover_all(spec, &decoded, unsigned);
    let blocks =
        decoded.into_iter().zip(senders).map(|(block, senders)| assemble(spec, block, senders)).collect();
    (blocks, mistaken.or(malformed))
}

/// Return a block from its stored rows, with the senders that the body row holds.
pub fn from_rows(spec: &ChainSpec, header_row: &[u8], body_row: &[u8]) -> Result<UnverifiedBlock, Error> {
    let (head, body) = (HeaderRow::new(header_row)?, BodyRow::new(body_row)?);
    let envelopes: Vec<&[u8]> =
        body.transaction_rows().map(|row| row.map(|row| row.envelope)).collect::<Result<_, _>>()?;
    let block = Decoded {
        header: head.header()?,
        hash: *head.hash(),
        size: head.size(),
        transactions: body.transactions()?,
        transactions_root: ordered_trie_root_encoded(&envelopes),
        ommers: body.ommers()?,
        withdrawals: body.withdrawals()?,
    };
    Ok(assemble(spec, block, body.senders()?))
}

/// Return a block with its senders and its rows of the store.
pub(super) fn assemble(spec: &ChainSpec, block: Decoded, senders: Vec<Address>) -> UnverifiedBlock {
    let fee = blob_base_fee(spec, &block.header);
    let header_row = encode_header(&block.header, block.hash, block.size, fee);
    let mut body_row =
        encode_body_of(&block.transactions, &senders, &block.ommers, block.withdrawals.as_deref());
    if spec.family_at(block.header.number) == Family::OpStack {
        body_row = with_deposits(&body_row, &[], spec.op_fork(block.header.timestamp).is_some());
    }
    let withdrawals_root = withdrawals_root(spec, &block);
    UnverifiedBlock {
        header: block.header,
        hash: block.hash,
        size: block.size,
        transactions: block.transactions,
        senders,
        ommers: block.ommers,
        withdrawals: block.withdrawals,
        transactions_root: block.transactions_root,
        withdrawals_root,
        header_row: header_row.into(),
        body_row: body_row.into(),
    }
}

/// Return the root of a block's withdrawals, or None if the block has none. On chains where the header's root
/// is that of a contract's storage, an empty list gives the header's own value (OP stack, Isthmus).
fn withdrawals_root(spec: &ChainSpec, block: &Decoded) -> Option<B256> {
    let withdrawals = block.withdrawals.as_deref()?;
    let is_of_storage = spec.header_rules().withdrawals_root == WithdrawalsRoot::Storage
        && block.header.requests_hash.is_some();
    match is_of_storage && withdrawals.is_empty() {
        true => block.header.withdrawals_root,
        false => Some(calculate_withdrawals_root(withdrawals)),
    }
}

/// Return a block without its senders. `family` gives the family of a chain at the block's number.
pub(super) fn decode(encoded: &[u8], family: impl FnOnce(u64) -> Family) -> Result<Decoded, InvalidBlock> {
    let mut rest = encoded;
    let items = list_items(&mut rest).and_then(|items| match rest.is_empty() {
        true => Ok(items),
        false => Err(malformed("nothing after the block", "more bytes")),
    });
    let items = items.map_err(|violation| violation.in_block(None, None))?;
    let raw_header = *items.first().ok_or_else(|| malformed("a header", "nothing").in_block(None, None))?;
    verify_member_count(raw_header).map_err(|violation| violation.in_block(None, None))?;
    let header: Header = exact(raw_header).map_err(|violation| violation.in_block(None, None))?;
    let hash = keccak256(raw_header);
    let number = header.number;
    decode_body(header, hash, &items, family(number))
        .map_err(|violation| violation.in_block(Some(number), Some(hash)))
}

fn verify_member_count(mut header: &[u8]) -> Result<(), RuleViolation> {
    match list_items(&mut header)?.len() {
        0..=HEADER_MEMBERS => Ok(()),
        count => Err(malformed(format!("at most {HEADER_MEMBERS} members in the header"), count)),
    }
}

fn decode_body(
    header: Header,
    hash: B256,
    items: &[&[u8]],
    family: Family,
) -> Result<Decoded, RuleViolation> {
    let (transactions, ommers, withdrawals) = match items {
        [_, transactions, ommers] => (transactions, ommers, None),
        [_, transactions, ommers, withdrawals] => (transactions, ommers, Some(withdrawals)),
        [_, transactions, ommers, withdrawals, list] => {
            verify_exported_list(&header, list)?;
            (transactions, ommers, Some(withdrawals))
        }
        _ => return Err(malformed("3 to 5 members in the block", items.len())),
    };
    // The access list, a fifth member, is not part of a block as the network encodes it.
    let members = items.iter().take(4).map(|item| item.len());
    let size = RlpHeader { list: true, payload_length: members.sum() }.length_with_payload();
    let (transactions, transactions_root) = decode_transactions(transactions, family)?;
    Ok(Decoded {
        header,
        hash,
        size,
        transactions,
        transactions_root,
        ommers: exact(ommers)?,
        withdrawals: withdrawals.map(|list| exact(list)).transpose()?,
    })
}

/// Check the hash of the block access list that `geth export` appends to a block as a fifth member.
///
/// The list is not kept, because execution builds its own.
fn verify_exported_list(header: &Header, list: &[u8]) -> Result<(), RuleViolation> {
    match header.block_access_list_hash {
        Some(stated) => require_equal(Rule::BlockAccessListHash, keccak256(list), stated),
        None => Err(malformed("3 or 4 members in a block without an access list", 5)),
    }
}

/// Return the transactions of a block and the root of their trie.
fn decode_transactions(mut list: &[u8], family: Family) -> Result<(Vec<Transaction>, B256), RuleViolation> {
    let mut envelopes = Vec::new();
    for item in list_items(&mut list)? {
        envelopes.push(envelope(item)?);
    }
    let decode = |(index, bytes): (usize, &&[u8])| decode_any_transaction(index, bytes, family);
    let transactions = envelopes.iter().enumerate().map(decode).collect::<Result<_, _>>()?;
    Ok((transactions, ordered_trie_root_encoded(&envelopes)))
}

/// Return a transaction's envelope from its item in the block's list: the item itself for a legacy
/// transaction, and the content of the string for a typed one.
fn envelope(item: &[u8]) -> Result<&[u8], RuleViolation> {
    let mut rest = item;
    let head = RlpHeader::decode(&mut rest).map_err(rlp)?;
    match (head.list, rest.first()) {
        (true, _) => Ok(item),
        (false, Some(first)) if *first < 0xc0 => Ok(rest),
        (false, _) => Err(malformed("a typed transaction", "a string of something else")),
    }
}

/// Return the transaction in an envelope. It may be a system transaction if the family has its type.
fn decode_any_transaction(index: usize, bytes: &[u8], family: Family) -> Result<Transaction, RuleViolation> {
    let Some(row) = bytes.first().and_then(|kind| SystemType::of(*kind)) else {
        return decode_transaction(bytes)
            .map(Transaction::Signed)
            .map_err(|violation| placed(index, violation));
    };
    if !family.has_system_type(row.kind) {
        let found = format!("transaction {index} of type {:#x} ({})", row.kind, row.name);
        return Err(RuleViolation::new(Rule::TransactionType, "a type that the chain's rules have", found));
    }
    SystemTransaction::decode(bytes)
        .map(Transaction::System)
        .map_err(|reason| malformed(format!("a {} transaction", row.name), reason))
}

/// Return the violation. A violation of the rule `TransactionType` also names the transaction's index in the
/// body.
fn placed(index: usize, violation: RuleViolation) -> RuleViolation {
    match violation.rule {
        Rule::TransactionType => {
            RuleViolation { actual: format!("transaction {index} of type {}", violation.actual), ..violation }
        }
        _ => violation,
    }
}

/// Return the transaction in an envelope of a block. An envelope with blobs is refused.
pub fn decode_transaction(bytes: &[u8]) -> Result<TxEnvelope, RuleViolation> {
    let kind = *bytes.first().ok_or_else(|| malformed("a transaction", "nothing"))?;
    if (0x05..0xc0).contains(&kind) || kind == 0 {
        return Err(RuleViolation::new(Rule::TransactionType, "a type from 1 to 4", format!("{kind:#x}")));
    }
    let transaction =
        TxEnvelope::decode_2718_exact(bytes).map_err(|reason| malformed("a transaction", reason))?;
    if transaction
        .as_eip4844()
        .is_some_and(|blob| matches!(blob.tx(), TxEip4844Variant::TxEip4844WithSidecar(_)))
    {
        return Err(malformed("a blob transaction without its blobs", "one with them"));
    }
    debug_assert_eq!(transaction.ty(), if kind < 0x05 { kind } else { 0 });
    Ok(transaction)
}

/// Return the members of a list, each with its own RLP header. `bytes` is left at the end of the list.
fn list_items<'a>(bytes: &mut &'a [u8]) -> Result<Vec<&'a [u8]>, RuleViolation> {
    match RlpHeader::decode_raw(bytes).map_err(rlp)? {
        PayloadView::List(items) => Ok(items),
        PayloadView::String(_) => Err(malformed("a list", "a string")),
    }
}

fn exact<T: Decodable>(bytes: &[u8]) -> Result<T, RuleViolation> {
    alloy_rlp::decode_exact(bytes).map_err(rlp)
}

fn rlp(reason: alloy_rlp::Error) -> RuleViolation {
    malformed("canonical RLP", reason)
}

fn malformed(expected: impl std::fmt::Display, actual: impl std::fmt::Display) -> RuleViolation {
    RuleViolation::new(Rule::Rlp, expected, actual)
}
