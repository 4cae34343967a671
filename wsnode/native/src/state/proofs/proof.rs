//! Proofs of accounts and slots: at the head from its nodes, at older blocks after rewinding in memory.

use super::trial::TrialTries;
use crate::state::bounds::Bounds;
use crate::state::reader::StateReader;
use crate::state::view::StateAfter;
use crate::state::StateError;
use alloy_primitives::{keccak256, Address, Bytes, B256, U256};
use alloy_trie::{TrieAccount, EMPTY_ROOT_HASH};

/// Account or its absence, proved under a block's state root.
#[derive(Debug, Clone)]
pub struct AccountProof {
    /// Account with its storage root; None if it does not exist.
    pub account: Option<TrieAccount>,
    /// Storage root of the account; the empty trie's root if it does not exist.
    pub storage_root: B256,
    /// RLP of the nodes from the state root down.
    pub nodes: Vec<Bytes>,
    /// Proofs of the slots, in the order of the request.
    pub slots: Vec<SlotProof>,
}

/// Value of a slot, proved under its account's storage root.
#[derive(Debug, Clone)]
pub struct SlotProof {
    pub slot: B256,
    pub value: U256,
    /// RLP of the nodes from the storage root down.
    pub nodes: Vec<Bytes>,
}

impl StateReader {
    /// Prove an account and `slots` of it after a block.
    pub fn proof<'a>(
        &'a self,
        address: Address,
        slots: &[B256],
        block: impl Into<StateAfter<'a>>,
        bounds: Bounds<'_>,
    ) -> Result<AccountProof, StateError> {
        self.trial(block, bounds)?.proof(address, slots)
    }
}

impl TrialTries<'_> {
    fn proof(mut self, address: Address, slots: &[B256]) -> Result<AccountProof, StateError> {
        let (view, snapshot, tries) = (self.view(), &*self.snapshot, &mut self.tries);
        let hashed_address = keccak256(address);
        // In a state known by proofs alone, these reads report unknown values before the tries report missing
        // nodes.
        view.account(address)?;
        slots.iter().try_for_each(|slot| view.storage(address, (*slot).into()).map(drop))?;
        snapshot.require_nodes(&[(address, slots.iter().map(|slot| (*slot).into()).collect())])?;
        let account = tries.account(snapshot, &hashed_address)?;
        let nodes = tries.account_proof(snapshot, &hashed_address)?;
        let proved = slots.iter().map(|slot| {
            let value = view.storage(address, (*slot).into())?;
            let nodes = tries.slot_proof(snapshot, &hashed_address, &keccak256(slot))?;
            Ok(SlotProof { slot: *slot, value, nodes })
        });
        let slots = proved.collect::<Result<_, StateError>>()?;
        let storage_root = account.as_ref().map_or(EMPTY_ROOT_HASH, |account| account.storage_root);
        Ok(AccountProof { account, storage_root, nodes, slots })
    }
}
