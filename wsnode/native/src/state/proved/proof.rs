//! Verification of proofs by a walk of the trie from its root; the nodes sent are its store.

use alloy_primitives::map::B256Map;
use alloy_primitives::{keccak256, Address, Bytes, B256, U256};
use alloy_rlp::Decodable;
use alloy_trie::{Nibbles, TrieAccount, EMPTY_ROOT_HASH, KECCAK_EMPTY};

use crate::state::StateError;
use crate::trie::{NodeStore, Trie, TrieError};

/// Account as another node proves it, not verified yet.
#[derive(Debug, Clone)]
pub struct Proved {
    pub address: Address,
    /// RLP of the nodes from the state root down.
    pub nodes: Vec<Bytes>,
    /// Slots, each with the RLP of the nodes from the storage root down.
    pub slots: Vec<(B256, Vec<Bytes>)>,
    /// Code of the account; None if it is known already.
    pub code: Option<Bytes>,
}

/// Account and slots with their values, verified under a state root.
#[derive(Debug)]
pub(super) struct Verified {
    pub(super) account: Option<TrieAccount>,
    pub(super) slots: Vec<(B256, U256)>,
}

impl Proved {
    /// Verify the proofs under `state_root` and return the account, None if it does not exist, and the slots'
    /// values.
    ///
    /// Fail with `WrongProof`, also if the code does not have the account's code hash.
    pub(super) fn verify(&self, state_root: B256) -> Result<Verified, StateError> {
        let leaf = proved_value(state_root, keccak256(self.address), &self.nodes)?;
        let account = leaf.map(|leaf| TrieAccount::decode(&mut leaf.as_slice()));
        let account = account.transpose().map_err(TrieError::from).map_err(wrong)?;
        let storage_root = account.as_ref().map_or(EMPTY_ROOT_HASH, |account| account.storage_root);
        let slots = self.slots.iter().map(|(slot, nodes)| {
            let leaf = proved_value(storage_root, keccak256(slot), nodes)?;
            let value = leaf.map(|leaf| U256::decode(&mut leaf.as_slice()));
            Ok((*slot, value.transpose().map_err(TrieError::from).map_err(wrong)?.unwrap_or_default()))
        });
        let slots = slots.collect::<Result<_, StateError>>()?;
        self.verify_code(account.as_ref())?;
        Ok(Verified { account, slots })
    }

    /// Check the proofs under `state_root` without returning the values.
    pub fn check(&self, state_root: B256) -> Result<(), StateError> {
        self.verify(state_root).map(drop)
    }

    fn verify_code(&self, account: Option<&TrieAccount>) -> Result<(), StateError> {
        let Some(code) = &self.code else {
            return Ok(());
        };
        let expected = account.map_or(KECCAK_EMPTY, |account| account.code_hash);
        match keccak256(code) == expected {
            true => Ok(()),
            false => Err(StateError::WrongProof(format!("code that has not the hash {expected}"))),
        }
    }
}

/// Maximum number of nodes from a root to a value: a branch for each nibble of its key, and a leaf.
const MAX_NODES: usize = 65;

/// Return the value at `key` in the trie with this root, by its proof; None if the proof shows that there is
/// none.
fn proved_value(root: B256, key: B256, nodes: &[Bytes]) -> Result<Option<Vec<u8>>, StateError> {
    if nodes.len() > MAX_NODES {
        return Err(StateError::WrongProof(format!("{} nodes, more than a proof can have", nodes.len())));
    }
    let nodes = ProofNodes(nodes.iter().map(|node| (keccak256(node), node.as_ref())).collect());
    let mut trie = Trie::new(None, root);
    let found = trie.get(&nodes, &Nibbles::unpack(key)).map_err(wrong)?;
    Ok(found.map(<[u8]>::to_vec))
}

fn wrong(reason: TrieError) -> StateError {
    StateError::WrongProof(reason.to_string())
}

struct ProofNodes<'p>(B256Map<&'p [u8]>);

impl NodeStore for ProofNodes<'_> {
    fn node(&self, _: Option<&B256>, _: &Nibbles) -> Result<Option<&[u8]>, TrieError> {
        Ok(None)
    }

    fn named(&self, hash: &B256) -> Result<Option<&[u8]>, TrieError> {
        Ok(self.0.get(hash).copied())
    }
}
