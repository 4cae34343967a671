//! Blocks from RLP, from the JSON of other nodes or from payloads, with their senders recovered, and verified
//! blocks with their receipts.

mod decode;
mod from_json;
mod impersonation;
mod known;
mod payload;
mod senders;
mod system_from_json;

use std::sync::Arc;

use alloy_consensus::proofs::calculate_ommers_root;
use alloy_consensus::{Header, ReceiptEnvelope};
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, Bytes, B256};
use alloy_rlp::Encodable;

use crate::chain::rows::{
    encode_body, encode_header, encode_receipts, with_deposits, BodyRow, DepositReceipt, ReceiptsRow,
    RowError, Transaction,
};
use crate::error::Error;
use crate::evm::chain_spec::{blob_base_fee, ChainSpec};

pub use decode::{decode_blocks, decode_transaction, from_rows};
pub use from_json::{encode_json_block, encode_json_receipts, encode_proved_receipts, read_json_header};
pub use impersonation::{impersonated_sender, impersonation};
pub use known::note_sender;
pub use payload::{Beside, Payload};
pub use senders::{recover_transaction, UnsignedPolicy};

/// Block without its senders.
struct Decoded {
    header: Header,
    hash: B256,
    size: usize,
    transactions: Vec<Transaction>,
    transactions_root: B256,
    ommers: Vec<Header>,
    withdrawals: Option<Vec<Withdrawal>>,
}

/// Block with a valid encoding and known senders. Every other rule is unchecked.
#[derive(Debug)]
pub struct UnverifiedBlock {
    pub header: Header,
    pub hash: B256,
    /// Length of the block's RLP, in bytes.
    pub size: usize,
    pub transactions: Vec<Transaction>,
    pub senders: Vec<Address>,
    pub ommers: Vec<Header>,
    pub withdrawals: Option<Vec<Withdrawal>>,
    /// Transactions root, computed from `transactions`.
    pub transactions_root: B256,
    /// Withdrawals root, computed from `withdrawals`; the header's value where it is the root of a contract's
    /// storage.
    pub withdrawals_root: Option<B256>,
    pub header_row: Arc<[u8]>,
    pub body_row: Arc<[u8]>,
}

impl UnverifiedBlock {
    /// Return whether the header commits to this body. If not, a fault of the body says nothing about the
    /// block with this hash.
    pub fn has_own_body(&self) -> bool {
        self.transactions_root == self.header.transactions_root
            && calculate_ommers_root(&self.ommers) == self.header.ommers_hash
            && self.withdrawals_root == self.header.withdrawals_root
    }

    /// Return the verified block, with the receipts of its execution and the RLP of its access list. The
    /// caller has checked every rule.
    pub fn verified(&self, receipts: &[ReceiptEnvelope], access_list: Option<Bytes>) -> VerifiedBlock {
        VerifiedBlock {
            header: self.header.clone(),
            hash: self.hash,
            transaction_count: self.transactions.len(),
            log_count: receipts.iter().map(|receipt| receipt.logs().len()).sum(),
            header_row: self.header_row.clone(),
            body_row: self.body_row.clone(),
            receipts_row: encode_receipts(receipts),
            access_list,
        }
    }

    /// Return the verified block without an execution, with the receipts row and the access list of another
    /// node. The caller has checked every rule that needs no execution.
    pub fn with_receipts(
        &self,
        receipts: &[u8],
        access_list: Option<Bytes>,
    ) -> Result<VerifiedBlock, RowError> {
        let row = ReceiptsRow::new(receipts)?;
        let deposits: Vec<DepositReceipt> = (0..self.transactions.len())
            .map_while(|index| row.deposit(index).transpose())
            .collect::<Result<_, _>>()?;
        let body_row = match deposits.is_empty() {
            true => self.body_row.clone(),
            false => {
                with_deposits(&self.body_row, &deposits, BodyRow::new(&self.body_row)?.is_fjord()).into()
            }
        };
        let (log_count, receipts_row) = (row.log_count(), receipts.to_vec());
        Ok(VerifiedBlock { body_row, log_count, receipts_row, ..self.verified(&[], access_list) })
    }
}

/// Block that keeps every rule, with the results of its execution.
#[derive(Debug)]
pub struct VerifiedBlock {
    pub header: Header,
    pub hash: B256,
    pub transaction_count: usize,
    pub log_count: usize,
    pub header_row: Arc<[u8]>,
    pub body_row: Arc<[u8]>,
    pub receipts_row: Vec<u8>,
    /// RLP of the block access list (EIP-7928). None before Amsterdam, and for a block that was not executed
    /// if no node sent the list.
    pub access_list: Option<Bytes>,
}

pub fn genesis(spec: &Arc<ChainSpec>) -> Result<VerifiedBlock, Error> {
    let genesis = spec.genesis();
    if let Some(elsewhere) = &genesis.elsewhere {
        let (blocks, malformed) = decode_blocks(spec, &[elsewhere.block.as_ref()], UnsignedPolicy::Refused);
        let Some(block) = blocks.first() else {
            return Err(malformed.map_or_else(|| Error::internal("a block is decoded or not"), Error::from));
        };
        return Ok(block.with_receipts(&elsewhere.receipts, None)?);
    }
    let withdrawals = genesis.header.withdrawals_root.map(|_| Vec::new());
    let size = genesis_size(&genesis.header, withdrawals.is_some());
    let fee = blob_base_fee(spec, &genesis.header);
    Ok(VerifiedBlock {
        header: genesis.header.clone(),
        hash: genesis.hash,
        transaction_count: 0,
        log_count: 0,
        header_row: encode_header(&genesis.header, genesis.hash, size, fee).into(),
        body_row: encode_body(&[], &[], &[], withdrawals.as_deref()).into(),
        receipts_row: encode_receipts(&[]),
        access_list: header_list(&genesis.header),
    })
}

/// Return the RLP of an empty access list if the genesis header commits to one.
fn header_list(header: &Header) -> Option<Bytes> {
    header.block_access_list_hash.map(|_| Bytes::from_static(&[alloy_rlp::EMPTY_LIST_CODE]))
}

/// Return the length of the genesis block's RLP, in bytes. Each of its empty lists takes one byte.
fn genesis_size(header: &Header, has_withdrawals: bool) -> usize {
    let payload_length = header.length() + if has_withdrawals { 3 } else { 2 };
    alloy_rlp::Header { list: true, payload_length }.length_with_payload()
}
