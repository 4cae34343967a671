//! Blocks from RLP, strictly: what a canonical encoder would not have written is refused.

use alloy_consensus::proofs::ordered_trie_root_encoded;
use alloy_consensus::{Header, TxEip4844Variant, TxEnvelope, Typed2718};
use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{keccak256, Address, B256};
use alloy_rlp::{Decodable, Header as RlpHeader, PayloadView};

use super::senders::{recover_all, Unsigned};
use super::{Decoded, UnverifiedBlock};
use crate::chain::rows::{encode_body, encode_header, BodyRow, HeaderRow};
use crate::error::{Broken, Error, InvalidBlock, Rule};
use crate::evm::chain_spec::{blob_base_fee, ChainSpec};

/// The blocks before the first malformed one, and what is wrong with that one.
pub fn decode_blocks(
    spec: &ChainSpec,
    encoded: &[&[u8]],
    unsigned: Unsigned,
) -> (Vec<UnverifiedBlock>, Option<InvalidBlock>) {
    let mut decoded = Vec::with_capacity(encoded.len());
    let mut malformed = None;
    for block in encoded {
        match decode(block) {
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

/// A block from its stored rows, whose senders are already known.
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

/// A block with its senders and its rows.
pub(super) fn assemble(spec: &ChainSpec, block: Decoded, senders: Vec<Address>) -> UnverifiedBlock {
    let fee = blob_base_fee(spec, &block.header);
    let header_row = encode_header(&block.header, block.hash, block.size, fee);
    let body_row = encode_body(&block.transactions, &senders, &block.ommers, block.withdrawals.as_deref());
    UnverifiedBlock {
        header: block.header,
        hash: block.hash,
        size: block.size,
        transactions: block.transactions,
        senders,
        ommers: block.ommers,
        withdrawals: block.withdrawals,
        transactions_root: block.transactions_root,
        header_row: header_row.into(),
        body_row: body_row.into(),
    }
}

fn decode(encoded: &[u8]) -> Result<Decoded, InvalidBlock> {
    let mut rest = encoded;
    let items = list_items(&mut rest).and_then(|items| match rest.is_empty() {
        true => Ok(items),
        false => Err(malformed("nothing after the block", "more bytes")),
    });
    let items = items.map_err(|broken| broken.by(None, None))?;
    let raw_header = *items.first().ok_or_else(|| malformed("a header", "nothing").by(None, None))?;
    let header: Header = exact(raw_header).map_err(|broken| broken.by(None, None))?;
    let hash = keccak256(raw_header);
    let number = header.number;
    decode_body(header, hash, encoded.len(), &items).map_err(|broken| broken.by(Some(number), Some(hash)))
}

fn decode_body(header: Header, hash: B256, size: usize, items: &[&[u8]]) -> Result<Decoded, Broken> {
    if header.block_access_list_hash.is_some() || header.slot_number.is_some() {
        return Err(malformed("at most 21 members in the header", "more"));
    }
    let (transactions, ommers, withdrawals) = match items {
        [_, transactions, ommers] => (transactions, ommers, None),
        [_, transactions, ommers, withdrawals] => (transactions, ommers, Some(withdrawals)),
        _ => return Err(malformed("3 or 4 members in the block", items.len())),
    };
    let (transactions, transactions_root) = decode_transactions(transactions)?;
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

/// The transactions of a block and the root of their trie.
fn decode_transactions(mut list: &[u8]) -> Result<(Vec<TxEnvelope>, B256), Broken> {
    let mut envelopes = Vec::new();
    for item in list_items(&mut list)? {
        envelopes.push(envelope(item)?);
    }
    let transactions = envelopes.iter().map(|bytes| decode_transaction(bytes)).collect::<Result<_, _>>()?;
    Ok((transactions, ordered_trie_root_encoded(&envelopes)))
}

/// A transaction's own bytes: a legacy one is a list of the block's list, a typed one the content of a string.
fn envelope(item: &[u8]) -> Result<&[u8], Broken> {
    let mut rest = item;
    let head = RlpHeader::decode(&mut rest).map_err(rlp)?;
    match (head.list, rest.first()) {
        (true, _) => Ok(item),
        (false, Some(first)) if *first < 0xc0 => Ok(rest),
        (false, _) => Err(malformed("a typed transaction", "a string of something else")),
    }
}

/// The transaction in a typed envelope, as blocks hold it: blobs are not with it.
pub fn decode_transaction(bytes: &[u8]) -> Result<TxEnvelope, Broken> {
    let kind = *bytes.first().ok_or_else(|| malformed("a transaction", "nothing"))?;
    if (0x05..0xc0).contains(&kind) || kind == 0 {
        return Err(Broken::new(Rule::TransactionType, "a type from 1 to 4", format!("{kind:#x}")));
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

/// The members of a list, each with its own RLP header; what follows the list is left in `bytes`.
fn list_items<'a>(bytes: &mut &'a [u8]) -> Result<Vec<&'a [u8]>, Broken> {
    match RlpHeader::decode_raw(bytes).map_err(rlp)? {
        PayloadView::List(items) => Ok(items),
        PayloadView::String(_) => Err(malformed("a list", "a string")),
    }
}

fn exact<T: Decodable>(bytes: &[u8]) -> Result<T, Broken> {
    alloy_rlp::decode_exact(bytes).map_err(rlp)
}

fn rlp(reason: alloy_rlp::Error) -> Broken {
    malformed("canonical RLP", reason)
}

fn malformed(expected: impl std::fmt::Display, actual: impl std::fmt::Display) -> Broken {
    Broken::new(Rule::Rlp, expected, actual)
}
