//! Blocks from payloads of the Engine API.

mod form;

use alloy_consensus::constants::EMPTY_OMMER_ROOT_HASH;
use alloy_consensus::proofs::{calculate_withdrawals_root, ordered_trie_root_encoded};
use alloy_consensus::Header;
use alloy_eips::eip4895::Withdrawal;
use alloy_eips::eip7685::Requests;
use alloy_eips::eip7928::{validate_block_access_list, BlockAccessList};
use alloy_primitives::{keccak256, Bytes, B256};
use alloy_rlp::Encodable;

use super::decode::{assemble, decode_transaction};
use super::senders::{recover_all, UnsignedPolicy};
use super::{Decoded, UnverifiedBlock};
use crate::chain::rows::Transaction;
use crate::error::{require_equal, InvalidBlock, Rule, RuleViolation};
use crate::evm::chain_spec::ChainSpec;
use form::PayloadMembers;

pub use form::Version;

/// Payload whose JSON has the right form; its block hash is not verified yet.
#[derive(Debug)]
pub struct Payload {
    form: PayloadMembers,
    pub version: Version,
}

/// Values that `engine_newPayload` takes beside the payload, from version 3 and 4 on.
#[derive(Debug, Default)]
pub struct Beside {
    pub parent_beacon_block_root: Option<B256>,
    pub requests: Option<Vec<Bytes>>,
}

impl Payload {
    /// Return the payload in the JSON `text`, or a text that describes the fault of its form.
    pub fn read(text: &[u8]) -> Result<Self, String> {
        PayloadMembers::read(text).map(|(form, version)| Self { form, version })
    }

    pub fn timestamp(&self) -> u64 {
        self.form.timestamp.0
    }

    pub fn number(&self) -> u64 {
        self.form.block_number.0
    }

    /// Return the payload's `blockHash` as sent, 32 bytes; not verified.
    pub fn block_hash(&self) -> B256 {
        self.form.block_hash.hash()
    }

    pub fn parent_hash(&self) -> B256 {
        self.form.parent_hash.hash()
    }

    /// Return the payload's block. A wrong block hash is reported before any fault of a transaction.
    pub fn block(&self, spec: &ChainSpec, beside: Beside) -> Result<UnverifiedBlock, InvalidBlock> {
        let by = |violation: RuleViolation| violation.in_block(Some(self.number()), Some(self.block_hash()));
        let decoded = self.decode(beside).map_err(by)?;
        let (mut senders, unsigned) =
            recover_all(spec, std::slice::from_ref(&decoded), UnsignedPolicy::Refused);
        match unsigned {
            Some(invalid) => Err(invalid),
            // One block was given, so there is one list of senders.
            None => Ok(assemble(spec, decoded, senders.pop().unwrap_or_default())),
        }
    }

    fn decode(&self, beside: Beside) -> Result<Decoded, RuleViolation> {
        let form = &self.form;
        let envelopes: Vec<&[u8]> =
            form.transactions.iter().map(|transaction| transaction.0.as_ref()).collect();
        let withdrawals: Option<Vec<Withdrawal>> =
            form.withdrawals.as_ref().map(|list| list.iter().map(Into::into).collect());
        let transactions_root = ordered_trie_root_encoded(&envelopes);
        let header = self.header(transactions_root, withdrawals.as_deref(), beside)?;
        let hash = header.hash_slow();
        require_equal(Rule::BlockHash, hash, self.block_hash())?;
        if let Some(list) = &form.block_access_list {
            verify_structure(&list.0, envelopes.len())?;
        }
        let decode = |bytes: &&[u8]| decode_transaction(bytes).map(Transaction::Signed);
        let transactions = envelopes.iter().map(decode).collect::<Result<_, _>>()?;
        let size = size(&header, &envelopes, withdrawals.as_ref());
        Ok(Decoded { header, hash, size, transactions, transactions_root, ommers: Vec::new(), withdrawals })
    }

    fn header(
        &self,
        transactions_root: B256,
        withdrawals: Option<&[Withdrawal]>,
        beside: Beside,
    ) -> Result<Header, RuleViolation> {
        let form = &self.form;
        let base_fee = u64::try_from(form.base_fee_per_gas.0)
            .map_err(|_| RuleViolation::new(Rule::BaseFee, "at most 64 bits", form.base_fee_per_gas.0))?;
        Ok(Header {
            parent_hash: self.parent_hash(),
            ommers_hash: EMPTY_OMMER_ROOT_HASH,
            beneficiary: form.fee_recipient.address(),
            state_root: form.state_root.hash(),
            transactions_root,
            receipts_root: form.receipts_root.hash(),
            logs_bloom: form.logs_bloom.0.into(),
            number: self.number(),
            gas_limit: form.gas_limit.0,
            gas_used: form.gas_used.0,
            timestamp: self.timestamp(),
            extra_data: form.extra_data.0.clone(),
            mix_hash: form.prev_randao.hash(),
            base_fee_per_gas: Some(base_fee),
            withdrawals_root: withdrawals.map(calculate_withdrawals_root),
            blob_gas_used: form.blob_gas_used.as_ref().map(|gas| gas.0),
            excess_blob_gas: form.excess_blob_gas.as_ref().map(|gas| gas.0),
            parent_beacon_block_root: beside.parent_beacon_block_root,
            requests_hash: beside.requests.map(|requests| Requests::new(requests).requests_hash()),
            block_access_list_hash: form.block_access_list.as_ref().map(|list| keccak256(&list.0)),
            slot_number: form.slot_number.as_ref().map(|slot| slot.0),
            ..Header::default()
        })
    }
}

/// Check that `encoded` is a block access list in canonical order (EIP-7928). `transactions` is the number of
/// the block's transactions.
///
/// Only the block's execution shows whether its content is right.
fn verify_structure(encoded: &[u8], transactions: usize) -> Result<(), RuleViolation> {
    let wrong = |reason: &dyn std::fmt::Display| {
        RuleViolation::new(Rule::BlockAccessList, "a canonical list", reason)
    };
    let list: BlockAccessList = alloy_rlp::decode_exact(encoded).map_err(|reason| wrong(&reason))?;
    validate_block_access_list(&list, transactions).map_err(|reason| wrong(&reason))
}

/// Return the length of the block's RLP, in bytes.
fn size(header: &Header, envelopes: &[&[u8]], withdrawals: Option<&Vec<Withdrawal>>) -> usize {
    let list = |payload_length| alloy_rlp::Header { list: true, payload_length }.length_with_payload();
    // In a block, a typed transaction is a string, and a legacy transaction is a list.
    let transactions = envelopes.iter().map(|bytes| match bytes.first() {
        Some(first) if *first < 0xc0 => bytes.length(),
        _ => bytes.len(),
    });
    let no_ommers = 1;
    list(header.length() + list(transactions.sum()) + no_ommers + withdrawals.map_or(0, Encodable::length))
}
