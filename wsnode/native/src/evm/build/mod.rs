//! Blocks executed beside the head without a commit: new blocks, and blocks of other nodes.

mod arbos_guard;
mod attempt;
mod base;
mod header;
mod pending;
mod requests;
mod transactions;

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_eips::eip4895::Withdrawal;
use alloy_eips::BlockNumHash;
use alloy_primitives::{keccak256, Address, Bytes, B256};
use revm::database::{BundleState, CacheState, State};

use arbos_guard::ArbosGuard;
pub use attempt::{try_block, Parent};
pub use base::Base;
use header::open_header;
pub use pending::pending_state;
use transactions::Built;
pub use transactions::{Candidate, Refused};

use crate::chain::rows::{encode_body, encode_header, encode_receipts};
use crate::error::Error;
use crate::evm::block::{UnverifiedBlock, VerifiedBlock};
use crate::evm::chain_spec::{blob_base_fee, ChainSpec};
use crate::evm::environment::arbos::ArbosWatch;
use crate::evm::environment::rules_of;
use crate::evm::execute::{seal_receipts, set_root, Executed, ReadCache};
use crate::evm::rules::{Ancestor, Chosen};
use crate::state::{Bounds, StateAfter, StateReader, StateStore, Uncommitted};

/// Attributes of a new block that its proposer chooses.
#[derive(Debug, Clone)]
pub struct BlockAttributes {
    pub timestamp: u64,
    pub fee_recipient: Address,
    pub prev_randao: B256,
    pub gas_limit: u64,
    /// Base fee in wei per gas, in place of the one computed from the parent.
    pub base_fee: Option<u64>,
    pub parent_beacon_block_root: B256,
    pub extra_data: Bytes,
    pub withdrawals: Vec<Withdrawal>,
    /// Slot number, from Amsterdam on; by default one more than the parent's.
    pub slot_number: Option<u64>,
    /// True if the block may lack the requests of a system contract that fails, as on a development chain.
    pub may_lack_requests: bool,
}

impl BlockAttributes {
    /// Return the gas limit and the base fee if they were chosen: they need not follow from the parent.
    pub fn chosen(&self) -> Chosen {
        Chosen { gas_limit: Some(self.gas_limit), base_fee: self.base_fee }
    }
}

/// Executed block that is not committed.
#[derive(Debug)]
pub struct BuiltBlock {
    pub block: Arc<VerifiedBlock>,
    /// Requests to the consensus layer (EIP-7685), each as its type byte and its content.
    pub requests: Vec<Bytes>,
    /// Error messages of failed system contracts, whose requests the block lacks.
    pub failed_calls: Vec<String>,
    /// Changes of the block in its parent's state.
    pub changes: Arc<BundleState>,
    /// Parent block, or None if it was committed when this block was executed.
    pub parent: Option<Arc<BuiltBlock>>,
}

/// Approximate bytes in memory of an account's change. `SLOT_BYTES` are those of a slot's change.
const ACCOUNT_BYTES: usize = 400;
const SLOT_BYTES: usize = 150;

impl BuiltBlock {
    /// Return another node's block after its execution on `parent`, or on a committed block if that is None.
    pub fn new(block: &UnverifiedBlock, executed: Executed, parent: Option<Arc<Self>>) -> Self {
        Self {
            block: Arc::new(block.verified(&executed.receipts, executed.access_list.map(|list| list.rlp))),
            requests: executed.requests.take(),
            failed_calls: Vec::new(),
            changes: Arc::new(executed.changes),
            parent,
        }
    }

    /// Return another node's block without an execution: the state after it is unknown, and its changes are
    /// empty.
    pub fn unexecuted(block: VerifiedBlock) -> Self {
        let (requests, failed_calls, changes) = <_>::default();
        Self { block: Arc::new(block), requests, failed_calls, changes, parent: None }
    }

    /// Return the same block on another instance of its parent, or on the committed parent if None. The new
    /// block does not keep the old parent alive.
    pub fn rebased(&self, parent: Option<Arc<Self>>) -> Self {
        Self {
            block: self.block.clone(),
            requests: self.requests.clone(),
            failed_calls: self.failed_calls.clone(),
            changes: self.changes.clone(),
            parent,
        }
    }

    /// Return the state after the block. It is valid while the last committed ancestor stays committed.
    pub fn state(&self) -> StateAfter<'_> {
        let mut above = Vec::new();
        let mut lowest = self;
        loop {
            above.push(Uncommitted { hash: lowest.block.hash, changes: &lowest.changes });
            match &lowest.parent {
                Some(parent) => lowest = parent,
                None => break,
            }
        }
        above.reverse();
        let header = &lowest.block.header;
        StateAfter { committed: BlockNumHash::new(header.number - 1, header.parent_hash), above }
    }

    /// Return the approximate bytes that the block takes in memory, without its uncommitted ancestors.
    pub fn size(&self) -> usize {
        let list = self.block.access_list.as_ref().map_or(0, |list| list.len());
        let rows =
            [self.block.header_row.len(), self.block.body_row.len(), self.block.receipts_row.len(), list];
        let accounts = self.changes.state.values();
        let values: usize = accounts.map(|account| ACCOUNT_BYTES + SLOT_BYTES * account.storage.len()).sum();
        let code: usize = self.changes.contracts.values().map(|code| code.original_byte_slice().len()).sum();
        rows.iter().sum::<usize>() + values + code
    }
}

/// Build the block after `parent` on the state after it, and return the block with the refused transactions.
///
/// Each refused transaction has its index in `transactions` and the reason. The stored state does not change.
pub fn build_block(
    spec: &ChainSpec,
    reader: &StateReader,
    (parent, on): (&Ancestor, &Parent),
    attributes: &BlockAttributes,
    transactions: &[Candidate<'_>],
) -> Result<(BuiltBlock, Vec<Refused>), Error> {
    let header = open_header(spec, parent, attributes)?;
    let tries = reader.trial(on.state(), Bounds::none())?;
    let view = tries.view();
    let mut state =
        State::builder().with_database(guarded(spec, &header, &view)).with_bundle_update().build();
    let mut built = transactions::fill(spec, &header, attributes, &mut state, transactions)?;
    for (receipt, step) in built.receipts.iter_mut().zip(&built.steps) {
        set_root(receipt, reader.trial(on.state(), Bounds::none())?.next_root(step)?);
    }
    let state_root = tries.next_root(&built.changes)?;
    let (block, refused) = sealed(spec, Header { state_root, ..header }, attributes, built);
    Ok((block.rebased(on.built()), refused))
}

/// Build the block after the head of the state, apply it to the state, and return three parts: the block, the
/// refused transactions with index and reason, and the values that it read and wrote, for `cache`.
///
/// `parent` is the head. Nothing is sealed. After an error the caller must clear the cache and roll back the
/// state.
pub fn build_next(
    spec: &ChainSpec,
    store: &StateStore,
    cache: &mut ReadCache,
    parent: &Ancestor,
    attributes: &BlockAttributes,
    transactions: &[Candidate<'_>],
) -> Result<(BuiltBlock, Vec<Refused>, CacheState), Error> {
    let header = open_header(spec, parent, attributes)?;
    let view = store.latest();
    let builder =
        State::builder().with_database(guarded(spec, &header, &view)).with_cached_prestate(cache.take());
    let mut state = builder.with_bundle_update().build();
    let mut built = transactions::fill(spec, &header, attributes, &mut state, transactions)?;
    for (receipt, step) in built.receipts.iter_mut().zip(&built.steps) {
        set_root(receipt, store.intermediate_root(step)?);
    }
    let state_root = store.intermediate_root(&built.changes)?;
    let (block, refused) = sealed(spec, Header { state_root, ..header }, attributes, built);
    Ok((block, refused, state.cache))
}

fn guarded<V>(spec: &ChainSpec, header: &Header, view: V) -> ArbosGuard<V> {
    ArbosGuard::new(view, ArbosWatch::of(spec, rules_of(spec, header).evm(header.number, header.timestamp)))
}

/// Return the built block and the refused transactions. `header` is open but for its state root.
fn sealed(
    spec: &ChainSpec,
    mut header: Header,
    attributes: &BlockAttributes,
    built: Built,
) -> (BuiltBlock, Vec<Refused>) {
    let receipts = seal_receipts(&built.receipts);
    header.transactions_root = built.transactions_root;
    header.receipts_root = receipts.root;
    header.logs_bloom = receipts.bloom;
    header.gas_used = built.gas_used;
    header.blob_gas_used = header.blob_gas_used.map(|_| built.blob_gas_used);
    header.requests_hash = header.requests_hash.map(|_| built.requests.requests_hash());
    header.block_access_list_hash = built.access_list.as_ref().map(|list| keccak256(&list.rlp));
    let withdrawals = header.withdrawals_root.map(|_| attributes.withdrawals.as_slice());
    let body_row = encode_body(&built.transactions, &built.senders, &[], withdrawals);
    let hash = header.hash_slow();
    let size = header::block_size(&header, &built.transactions, withdrawals);
    let header_row = encode_header(&header, hash, size, blob_base_fee(spec, &header));
    let block = VerifiedBlock {
        hash,
        transaction_count: built.transactions.len(),
        log_count: built.receipts.iter().map(|receipt| receipt.logs().len()).sum(),
        header_row: Arc::from(header_row),
        body_row: Arc::from(body_row),
        receipts_row: encode_receipts(&built.receipts),
        access_list: built.access_list.map(|list| list.rlp),
        header,
    };
    let requests = built.requests.take();
    let block = BuiltBlock {
        block: Arc::new(block),
        requests,
        failed_calls: built.failed_calls,
        changes: Arc::new(built.changes),
        parent: None,
    };
    (block, built.refused)
}
