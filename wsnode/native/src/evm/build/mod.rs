//! Blocks executed beside the head, which leave the state as it is: new ones, and those of others.

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

/// The attributes of a block that its proposer decides.
#[derive(Debug, Clone)]
pub struct BlockAttributes {
    pub timestamp: u64,
    pub fee_recipient: Address,
    pub prev_randao: B256,
    pub gas_limit: u64,
    /// Instead of the one that follows from the parent.
    pub base_fee: Option<u64>,
    pub parent_beacon_block_root: B256,
    pub extra_data: Bytes,
    pub withdrawals: Vec<Withdrawal>,
    /// From Amsterdam on; one more than the parent's if absent.
    pub slot_number: Option<u64>,
    /// Whether the block may lack the requests of a system contract that fails, as a development chain's may.
    pub may_lack_requests: bool,
}

impl BlockAttributes {
    /// What in such a block need not follow from its parent.
    pub fn chosen(&self) -> Chosen {
        Chosen { gas_limit: Some(self.gas_limit), base_fee: self.base_fee }
    }
}

/// A block that is executed and not committed.
#[derive(Debug)]
pub struct BuiltBlock {
    pub block: Arc<VerifiedBlock>,
    /// What it asks of the consensus layer, each request's type before its content.
    pub requests: Vec<Bytes>,
    /// Why it lacks requests of system contracts.
    pub failed_calls: Vec<String>,
    /// What it changes in its parent's state.
    pub changes: Arc<BundleState>,
    /// Its parent, unless that was committed when this block was executed.
    pub parent: Option<Arc<BuiltBlock>>,
}

/// Bytes in memory, roughly, of an account's change and of a slot's.
const ACCOUNT_BYTES: usize = 400;
const SLOT_BYTES: usize = 150;

impl BuiltBlock {
    /// A block of others, executed on `parent`, or on a committed block.
    pub fn new(block: &UnverifiedBlock, executed: Executed, parent: Option<Arc<Self>>) -> Self {
        Self {
            block: Arc::new(block.verified(&executed.receipts, executed.access_list.map(|list| list.rlp))),
            requests: executed.requests.take(),
            failed_calls: Vec::new(),
            changes: Arc::new(executed.changes),
            parent,
        }
    }

    /// A block of others as they told it, of which the state after it is not known: its changes are none.
    pub fn unexecuted(block: VerifiedBlock) -> Self {
        let (requests, failed_calls, changes) = <_>::default();
        Self { block: Arc::new(block), requests, failed_calls, changes, parent: None }
    }

    /// The same block on another instance of its parent, or on the committed one; its own parent is released.
    pub fn rebased(&self, parent: Option<Arc<Self>>) -> Self {
        Self {
            block: self.block.clone(),
            requests: self.requests.clone(),
            failed_calls: self.failed_calls.clone(),
            changes: self.changes.clone(),
            parent,
        }
    }

    /// The state after it, as long as the last committed block below it stays committed.
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

    /// How many bytes it takes in memory, roughly, without those below it.
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

/// Build the block after `parent`, a committed one, and leave the state as it is.
///
/// Transactions that cannot be included are left out, each with its index and the reason.
pub fn build_block(
    spec: &ChainSpec,
    reader: &StateReader,
    parent: &Ancestor,
    attributes: &BlockAttributes,
    transactions: &[Candidate<'_>],
) -> Result<(BuiltBlock, Vec<Refused>), Error> {
    let header = open_header(spec, parent, attributes)?;
    let parent_block = BlockNumHash::new(parent.header.number, parent.hash);
    let tries = reader.trial(parent_block, Bounds::none())?;
    let view = tries.view();
    let mut state =
        State::builder().with_database(guarded(spec, &header, &view)).with_bundle_update().build();
    let mut built = transactions::fill(spec, &header, attributes, &mut state, transactions)?;
    for (receipt, step) in built.receipts.iter_mut().zip(&built.steps) {
        set_root(receipt, reader.trial(parent_block, Bounds::none())?.next_root(step)?);
    }
    let state_root = tries.next_root(&built.changes)?;
    Ok(sealed(spec, Header { state_root, ..header }, attributes, built))
}

/// Build the block after the state's head, whose row is `parent`, and apply it; nothing is sealed.
///
/// What it read and wrote comes with it, for the next one. With an error the cache is to be cleared, and the state to be
/// rolled back.
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

/// The block that came of an opened `header`, which has the state root already.
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
