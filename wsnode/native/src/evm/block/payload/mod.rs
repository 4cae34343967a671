//! Blocks from payloads of the Engine API.

mod form;

use alloy_consensus::constants::EMPTY_OMMER_ROOT_HASH;
use alloy_consensus::proofs::{calculate_withdrawals_root, ordered_trie_root_encoded};
use alloy_consensus::Header;
use alloy_eips::eip4895::Withdrawal;
use alloy_eips::eip7685::Requests;
use alloy_primitives::{Bytes, B256};
use alloy_rlp::Encodable;

use super::decode::{assemble, decode_transaction};
use super::senders::{recover_all, Unsigned};
use super::{Decoded, UnverifiedBlock};
use crate::error::{demand, Broken, InvalidBlock, Rule};
use crate::evm::chain_spec::ChainSpec;
use form::Form;

pub use form::Version;

/// A payload whose form is right: which hash its header has is not known yet.
#[derive(Debug)]
pub struct Payload {
    form: Form,
    pub version: Version,
}

/// What is given beside a payload of a later version.
#[derive(Debug, Default)]
pub struct Beside {
    pub parent_beacon_block_root: Option<B256>,
    pub requests: Option<Vec<Bytes>>,
}

impl Payload {
    /// The payload that the JSON `text` holds, or in words what is wrong with its form.
    pub fn read(text: &[u8]) -> Result<Self, String> {
        Form::read(text).map(|(form, version)| Self { form, version })
    }

    pub fn timestamp(&self) -> u64 {
        self.form.timestamp.0
    }

    pub fn number(&self) -> u64 {
        self.form.block_number.0
    }

    /// The hash that it says it has.
    pub fn block_hash(&self) -> B256 {
        self.form.block_hash.hash()
    }

    pub fn parent_hash(&self) -> B256 {
        self.form.parent_hash.hash()
    }

    /// Its block; a wrong hash is reported before any fault of a transaction.
    pub fn block(&self, spec: &ChainSpec, beside: Beside) -> Result<UnverifiedBlock, InvalidBlock> {
        let by = |broken: Broken| broken.by(Some(self.number()), Some(self.block_hash()));
        let decoded = self.decode(beside).map_err(by)?;
        let (mut senders, unsigned) = recover_all(spec, std::slice::from_ref(&decoded), Unsigned::Refused);
        match unsigned {
            Some(invalid) => Err(invalid),
            // One block was given, so there is one list of senders.
            None => Ok(assemble(spec, decoded, senders.pop().unwrap_or_default())),
        }
    }

    fn decode(&self, beside: Beside) -> Result<Decoded, Broken> {
        let form = &self.form;
        let envelopes: Vec<&[u8]> =
            form.transactions.iter().map(|transaction| transaction.0.as_ref()).collect();
        let withdrawals: Option<Vec<Withdrawal>> =
            form.withdrawals.as_ref().map(|list| list.iter().map(Into::into).collect());
        let transactions_root = ordered_trie_root_encoded(&envelopes);
        let header = self.header(transactions_root, withdrawals.as_deref(), beside)?;
        let hash = header.hash_slow();
        demand(Rule::BlockHash, hash, self.block_hash())?;
        let transactions =
            envelopes.iter().map(|bytes| decode_transaction(bytes)).collect::<Result<_, _>>()?;
        let size = size(&header, &envelopes, withdrawals.as_ref());
        Ok(Decoded { header, hash, size, transactions, transactions_root, ommers: Vec::new(), withdrawals })
    }

    fn header(
        &self,
        transactions_root: B256,
        withdrawals: Option<&[Withdrawal]>,
        beside: Beside,
    ) -> Result<Header, Broken> {
        let form = &self.form;
        let base_fee = u64::try_from(form.base_fee_per_gas.0)
            .map_err(|_| Broken::new(Rule::BaseFee, "at most 64 bits", form.base_fee_per_gas.0))?;
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
            ..Header::default()
        })
    }
}

/// Bytes of the block's RLP.
fn size(header: &Header, envelopes: &[&[u8]], withdrawals: Option<&Vec<Withdrawal>>) -> usize {
    let list = |payload_length| alloy_rlp::Header { list: true, payload_length }.length_with_payload();
    // A typed transaction lies in a block as a string, a legacy one as the list that it is.
    let transactions = envelopes.iter().map(|bytes| match bytes.first() {
        Some(first) if *first < 0xc0 => bytes.length(),
        _ => bytes.len(),
    });
    let no_ommers = 1;
    list(header.length() + list(transactions.sum()) + no_ommers + withdrawals.map_or(0, Encodable::length))
}
