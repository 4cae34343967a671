//! State commitment: the trie of contracts with their storage, nonce and class, and the trie of declared classes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;

use starknet_types_core::felt::Felt;
use starknet_types_core::hash::{Pedersen, Poseidon, StarkHash};

use super::felts::short_string;
use super::trie::{BinaryTrie, ProofNode};

/// Contracts for each thread, at least: to start a thread costs as much as to hash one contract.
const CONTRACTS_A_THREAD: usize = 4;

/// Changes of a block to the state, or the reverse changes to undo a block.
#[derive(Default)]
pub struct StateDiff {
    /// Address, key and value of each slot.
    pub storage: Vec<[Felt; 3]>,
    /// Address and class hash of each contract deployed, or with a replaced class.
    pub class_hashes: Vec<[Felt; 2]>,
    /// Address and nonce of each contract.
    pub nonces: Vec<[Felt; 2]>,
    /// Class hash and compiled class hash of each class declared or migrated.
    pub compiled_classes: Vec<[Felt; 2]>,
}

/// Keys to prove in the three kinds of tries: classes, contracts, and slots of contracts.
pub struct AskedPaths {
    pub class_hashes: Vec<Felt>,
    pub contracts: Vec<Felt>,
    /// Address of each contract, and the keys of its slots.
    pub storage: Vec<(Felt, Vec<Felt>)>,
}

pub type Paths = Vec<(Felt, ProofNode)>;

/// Nodes of the three kinds of tries, from the root towards each key; leaves in the order of the asked contracts.
pub struct StatePaths {
    pub classes: Paths,
    pub contracts: Paths,
    /// Class hash, nonce and storage root of each asked contract; None if it is not in the state.
    pub leaves: Vec<Option<[Felt; 3]>>,
    pub storage: Vec<Paths>,
    /// Root of the contract trie and root of the class trie.
    pub roots: [Felt; 2],
}

#[derive(Default)]
struct Contract {
    class_hash: Felt,
    nonce: Felt,
    storage: BinaryTrie<Pedersen>,
    leaf: Felt,
}

impl Contract {
    /// Compute the contract's leaf; it is 0 if class hash, nonce and storage root are all 0.
    fn settle(&mut self) {
        let storage_root = self.storage.root();
        if [self.class_hash, self.nonce, storage_root] == [Felt::ZERO; 3] {
            self.leaf = Felt::ZERO;
            return;
        }
        self.leaf = contract_leaf(self.class_hash, storage_root, self.nonce);
    }
}

/// Tries of a whole state in memory: contracts, their storage, and class hashes without the classes.
#[derive(Default)]
pub struct StarknetStateTries {
    contracts: HashMap<Felt, Contract>,
    contract_trie: BinaryTrie<Pedersen>,
    class_trie: BinaryTrie<Poseidon>,
}

impl StarknetStateTries {
    /// Write a block's changes to the tries.
    pub fn apply(&mut self, change: &StateDiff) {
        let mut touched = self.take_touched(change);
        for [address, key, value] in &change.storage {
            contract(&mut touched, address).storage.set(key, *value);
        }
        for [address, class_hash] in &change.class_hashes {
            contract(&mut touched, address).class_hash = *class_hash;
        }
        for [address, nonce] in &change.nonces {
            contract(&mut touched, address).nonce = *nonce;
        }
        settle(&mut touched);
        for (address, contract) in touched {
            self.contract_trie.set(&address, contract.leaf);
            self.contracts.insert(address, contract);
        }
        for [class_hash, compiled] in &change.compiled_classes {
            self.class_trie.set(class_hash, class_leaf(compiled));
        }
    }

    /// Return the global state root.
    ///
    /// `always_joined` is true since version 0.14. Before it, with an empty class trie, the root of the contract trie
    /// is the global root itself.
    pub fn root(&mut self, always_joined: bool) -> Felt {
        joined_root(self.contract_trie.root(), self.class_trie.root(), always_joined)
    }

    /// Return the nodes on the paths to the asked classes, contracts and slots, without duplicates in a list.
    pub fn prove(&mut self, asked: &AskedPaths) -> StatePaths {
        let mut storage = Vec::new();
        for (address, keys) in &asked.storage {
            let trie = self.contracts.get_mut(address).map(|contract| &mut contract.storage);
            storage.push(trie.map_or_else(Vec::new, |trie| paths(trie, keys)));
        }
        let mut leaf = |address| {
            let contract = self.contracts.get_mut(address).filter(|contract| contract.leaf != Felt::ZERO)?;
            Some([contract.class_hash, contract.nonce, contract.storage.root()])
        };
        StatePaths {
            leaves: asked.contracts.iter().map(&mut leaf).collect(),
            classes: paths(&mut self.class_trie, &asked.class_hashes),
            contracts: paths(&mut self.contract_trie, &asked.contracts),
            storage,
            roots: [self.contract_trie.root(), self.class_trie.root()],
        }
    }

    fn take_touched(&mut self, change: &StateDiff) -> TouchedContracts {
        let slots = change.storage.iter().map(|[address, ..]| address);
        let others = change.class_hashes.iter().chain(&change.nonces).map(|[address, _]| address);
        let addresses = slots.chain(others).collect::<BTreeSet<_>>();
        addresses
            .into_iter()
            .map(|address| (*address, self.contracts.remove(address).unwrap_or_default()))
            .collect()
    }
}

fn paths<H: StarkHash>(trie: &mut BinaryTrie<H>, keys: &[Felt]) -> Paths {
    let mut known = BTreeSet::new();
    let nodes = keys.iter().flat_map(|key| trie.path(key));
    nodes.filter(|(hash, _)| known.insert(*hash)).collect()
}

/// Contracts touched by a change, by their address, while the change is applied.
type TouchedContracts = BTreeMap<Felt, Contract>;

fn contract<'a>(touched: &'a mut TouchedContracts, address: &Felt) -> &'a mut Contract {
    touched.entry(*address).or_default()
}

/// Compute the leaves of all touched contracts, on all cores.
///
/// Nearly all of the hashing is in their storage tries, and these are independent of each other.
fn settle(touched: &mut TouchedContracts) {
    let workers =
        thread::available_parallelism().map_or(1, NonZero::get).min(touched.len() / CONTRACTS_A_THREAD);
    if workers < 2 {
        touched.values_mut().for_each(Contract::settle);
        return;
    }
    let waiting = Mutex::new(touched.values_mut());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| std::iter::from_fn(|| next(&waiting)).for_each(Contract::settle));
        }
    });
}

fn next<T>(waiting: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).next()
}

pub fn contract_leaf(class_hash: Felt, storage_root: Felt, nonce: Felt) -> Felt {
    let code_and_storage = Pedersen::hash(&class_hash, &storage_root);
    Pedersen::hash(&Pedersen::hash(&code_and_storage, &nonce), &Felt::ZERO)
}

/// Return the global state root of the roots of the contract trie and of the class trie.
///
/// `always_joined` is described at `StarknetStateTries::root`.
pub fn joined_root(contracts: Felt, classes: Felt, always_joined: bool) -> Felt {
    if classes == Felt::ZERO && (contracts == Felt::ZERO || !always_joined) {
        return contracts;
    }
    Poseidon::hash_array(&[short_string("STARKNET_STATE_V0"), contracts, classes])
}

/// Return a class's leaf in the class trie; 0, no leaf, if its compiled class hash is 0.
fn class_leaf(compiled: &Felt) -> Felt {
    if *compiled == Felt::ZERO {
        return Felt::ZERO;
    }
    Poseidon::hash(&short_string("CONTRACT_CLASS_LEAF_V0"), compiled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn felt(number: u64) -> Felt {
        Felt::from(number)
    }

    #[test]
    fn undoing_a_change_restores_the_root() {
        let mut tries = StarknetStateTries::default();
        tries.apply(&StateDiff {
            storage: vec![[felt(9), felt(1), felt(2)]],
            class_hashes: vec![[felt(9), felt(77)]],
            ..StateDiff::default()
        });
        let before = tries.root(false);
        let later = |value, class, nonce, compiled| StateDiff {
            storage: vec![[felt(9), felt(1), felt(value)], [felt(10), felt(5), felt(nonce)]],
            class_hashes: vec![[felt(9), felt(class)], [felt(11), felt(nonce)]],
            nonces: vec![[felt(9), felt(nonce)]],
            compiled_classes: vec![[felt(500), felt(compiled)]],
        };
        tries.apply(&later(3, 78, 1, 501));
        assert_ne!(tries.root(false), before);
        tries.apply(&later(2, 77, 0, 0));
        assert_eq!(tries.root(false), before);
    }

    #[test]
    fn the_contracts_root_stands_alone_only_before_it_is_always_joined() {
        let mut tries = StarknetStateTries::default();
        assert_eq!(tries.root(true), Felt::ZERO);
        tries.apply(&StateDiff { nonces: vec![[felt(1), felt(1)]], ..StateDiff::default() });
        assert_ne!(tries.root(true), tries.root(false));
    }
}
