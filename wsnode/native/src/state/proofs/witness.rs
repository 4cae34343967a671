//! Witness of a block: the nodes of its parent's tries that prove the values read, and those needed to
//! compute the root after its changes.

use std::cell::RefCell;

use alloy_eips::BlockNumHash;
use alloy_primitives::map::{AddressMap, HashMap, HashSet};
use alloy_primitives::{keccak256, Address, Bytes, B256, U256};
use alloy_trie::{Nibbles, EMPTY_ROOT_HASH};
use revm::database::states::BundleAccount;
use revm::database::BundleState;

use super::trial::tries_at;
use crate::state::bounds::{unreadable, BoundedNodes, Bounds};
use crate::state::layout::account::Account;
use crate::state::reader::StateReader;
use crate::state::store::root_of;
use crate::state::StateError;
use crate::trie::{AccountChange, AccountUpdate, NodeRows, NodeStore, StateTries, TrieError};

/// Accounts that a block read, existing or not, each with the slots read.
pub type StateRead = AddressMap<HashSet<U256>>;

/// Trie nodes that prove the execution of a block, with its roots.
#[derive(Debug)]
pub struct ProvingNodes {
    /// State root of the parent.
    pub before: B256,
    /// RLP of each node once, in the order of their bytes.
    pub nodes: Vec<Bytes>,
    /// State root after the block, which follows from the nodes and the block's changes.
    pub root: B256,
}

impl StateReader {
    /// Return the nodes of the tries after `parent` that prove `read`, and those needed to apply `changes`.
    pub fn proving_nodes(
        &self,
        parent: BlockNumHash,
        read: &StateRead,
        changes: &BundleState,
        bounds: Bounds<'_>,
    ) -> Result<ProvingNodes, StateError> {
        let snapshot = self.read_after(parent)?;
        snapshot.require_whole("witnesses")?;
        let bounded = BoundedNodes(&snapshot, bounds);
        let before = root_of(&snapshot.require(parent)?);
        let (mut tries, _taken) = tries_at(&snapshot, parent, bounds)?;
        let rows = tries.rows();
        let nodes =
            RecordedNodes { changed: changed_rows(rows), store: &bounded, bounds, read: RefCell::default() };
        // New tries have no nodes in memory, so every node that they use is read and recorded.
        let mut tries = StateTries::new(before);
        if before != EMPTY_ROOT_HASH {
            nodes.node(None, &Nibbles::default())?;
        }
        for (address, slots) in read {
            let hashed_address = keccak256(address);
            tries.account(&nodes, &hashed_address)?;
            for slot in slots {
                let hashed_slot = keccak256(slot.to_be_bytes::<32>());
                tries.slot_proof(&nodes, &hashed_address, &hashed_slot)?;
            }
        }
        let root = tries.apply(&nodes, ordered(changes))?;
        Ok(ProvingNodes { before, nodes: nodes.read.into_inner().sorted(), root })
    }
}

type Path = (Option<B256>, Nibbles);

/// Return the rows that differ from the store's, by owner and path; None for a deleted node.
fn changed_rows(rows: Vec<NodeRows>) -> HashMap<Path, Option<Vec<u8>>> {
    let mut changed = HashMap::default();
    for rows in rows {
        changed.extend(rows.deleted.into_iter().map(|path| ((rows.owner, path), None)));
        changed.extend(rows.written.into_iter().map(|(path, row)| ((rows.owner, path), Some(row))));
    }
    changed
}

/// Nodes that were read, each once.
#[derive(Debug, Default)]
struct ReadNodes {
    nodes: HashSet<Bytes>,
    bytes: usize,
}

impl ReadNodes {
    fn add(&mut self, node: &[u8], bounds: Bounds<'_>) -> Result<(), StateError> {
        if self.nodes.insert(Bytes::copy_from_slice(node)) {
            self.bytes += node.len();
        }
        bounds.check_found(self.bytes)
    }

    fn sorted(self) -> Vec<Bytes> {
        let mut nodes: Vec<_> = self.nodes.into_iter().collect();
        nodes.sort_unstable();
        nodes
    }
}

/// Node store that records the nodes read from it.
struct RecordedNodes<'s, S> {
    changed: HashMap<Path, Option<Vec<u8>>>,
    store: &'s S,
    bounds: Bounds<'s>,
    read: RefCell<ReadNodes>,
}

impl<S: NodeStore> NodeStore for RecordedNodes<'_, S> {
    fn node(&self, owner: Option<&B256>, path: &Nibbles) -> Result<Option<&[u8]>, TrieError> {
        let node = match self.changed.get(&(owner.copied(), *path)) {
            Some(changed) => changed.as_deref(),
            None => self.store.node(owner, path)?,
        };
        if let Some(node) = node {
            self.read.borrow_mut().add(node, self.bounds).map_err(unreadable)?;
        }
        Ok(node)
    }

    fn named(&self, hash: &B256) -> Result<Option<&[u8]>, TrieError> {
        let node = self.store.named(hash)?;
        if let Some(node) = node {
            self.read.borrow_mut().add(node, self.bounds).map_err(unreadable)?;
        }
        Ok(node)
    }

    fn is_partial(&self) -> bool {
        self.store.is_partial()
    }
}

/// Convert the changes to those of the tries, updates before removals, each in a fixed order.
///
/// A removal reads the sibling left alone beside it. If an update adds a node there first, that read is not
/// needed; geth has this order.
fn ordered(changes: &BundleState) -> Vec<AccountChange> {
    let (mut set, mut removed) = (Vec::new(), Vec::new());
    for (address, account) in &changes.state {
        match change(*address, account) {
            Some(change) if matches!(change.update, AccountUpdate::Removed) => removed.push(change),
            Some(change) => set.push(change),
            None => {}
        }
    }
    removed.sort_unstable_by_key(|change| change.hashed_address);
    set.append(&mut removed);
    set
}

fn change(address: Address, account: &BundleAccount) -> Option<AccountChange> {
    let hashed_address = keccak256(address);
    let is_emptied = account.was_destroyed();
    let is_changed = account.is_info_changed() || is_emptied;
    let update = match is_changed {
        true => Account::update(account.info.as_ref().map(Account::from)),
        false => AccountUpdate::Unchanged,
    };
    // The storage of a removed account is removed with it, without reading its nodes.
    let slots =
        if matches!(update, AccountUpdate::Removed) { Vec::new() } else { slots(account, is_emptied) };
    (is_changed || !slots.is_empty()).then_some(AccountChange { hashed_address, update, is_emptied, slots })
}

/// Return the changed slots by their hashes, those with a value before those that become zero.
fn slots(account: &BundleAccount, is_emptied: bool) -> Vec<(B256, U256)> {
    let changed = account.storage.iter().filter(|(_, slot)| match is_emptied {
        true => !slot.present_value.is_zero(),
        false => slot.is_changed(),
    });
    let hashed = changed.map(|(slot, held)| (keccak256(slot.to_be_bytes::<32>()), held.present_value));
    let mut slots: Vec<_> = hashed.collect();
    slots.sort_unstable_by_key(|(slot, value)| (value.is_zero(), *slot));
    slots
}
