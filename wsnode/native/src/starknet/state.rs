//! The state commitment: every contract's storage, nonce and class, and the trie of declared classes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;

use starknet_types_core::felt::Felt;
use starknet_types_core::hash::{Pedersen, Poseidon, StarkHash};

use super::felts::short_string;
use super::trie::{BinaryTrie, ProofNode};

/// Fewer contracts are not worth a thread: starting one costs as much as hashing one of them.
const CONTRACTS_A_THREAD: usize = 4;

/// What one block changes, or what undoes it.
#[derive(Default)]
pub struct StateChange {
    /// Address, key, value.
    pub storage: Vec<[Felt; 3]>,
    /// Address, class hash: deployed and replaced.
    pub class_hashes: Vec<[Felt; 2]>,
    /// Address, nonce.
    pub nonces: Vec<[Felt; 2]>,
    /// Class hash, compiled class hash: declared and migrated.
    pub compiled_classes: Vec<[Felt; 2]>,
}

/// Whose leaves are to be proved.
pub struct AskedPaths {
    pub class_hashes: Vec<Felt>,
    pub contracts: Vec<Felt>,
    /// Slots by their contract.
    pub storage: Vec<(Felt, Vec<Felt>)>,
}

pub type Paths = Vec<(Felt, ProofNode)>;

/// Nodes of the three kinds of tries, in the order of what was asked for.
pub struct StatePaths {
    pub classes: Paths,
    pub contracts: Paths,
    /// Class hash, nonce and storage root; None for a contract that the state has not.
    pub leaves: Vec<Option<[Felt; 3]>>,
    pub storage: Vec<Paths>,
    /// Of the contracts and of the classes.
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
    /// Compute the contract's leaf; an address that nothing was ever written to has none.
    fn settle(&mut self) {
        let storage_root = self.storage.root();
        if [self.class_hash, self.nonce, storage_root] == [Felt::ZERO; 3] {
            self.leaf = Felt::ZERO;
            return;
        }
        self.leaf = contract_leaf(self.class_hash, storage_root, self.nonce);
    }
}

/// The whole state in memory, as far as the roots need it.
#[derive(Default)]
pub struct StarknetStateTries {
    contracts: HashMap<Felt, Contract>,
    contract_trie: BinaryTrie<Pedersen>,
    class_trie: BinaryTrie<Poseidon>,
}

impl StarknetStateTries {
    /// Apply a block's change.
    pub fn apply(&mut self, change: &StateChange) {
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

    /// The global state root; `always_joined` as of version 0.14, when an empty class trie no longer lets the
    /// contracts' root stand alone.
    pub fn root(&mut self, always_joined: bool) -> Felt {
        joined_root(self.contract_trie.root(), self.class_trie.root(), always_joined)
    }

    /// The nodes that prove classes, contracts, and slots of contracts, each list without duplicates.
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

    fn take_touched(&mut self, change: &StateChange) -> TouchedContracts {
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

/// The contracts that a change concerns, while it is applied.
type TouchedContracts = BTreeMap<Felt, Contract>;

fn contract<'a>(touched: &'a mut TouchedContracts, address: &Felt) -> &'a mut Contract {
    touched.entry(*address).or_default()
}

/// Compute the contracts' leaves on all cores: their tries have nothing in common, and hold most of the hashing.
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

/// The leaf of a contract that something was written to.
pub fn contract_leaf(class_hash: Felt, storage_root: Felt, nonce: Felt) -> Felt {
    let code_and_storage = Pedersen::hash(&class_hash, &storage_root);
    Pedersen::hash(&Pedersen::hash(&code_and_storage, &nonce), &Felt::ZERO)
}

/// The global state root of two tries; `always_joined` as for `StarknetStateTries::root`.
pub fn joined_root(contracts: Felt, classes: Felt, always_joined: bool) -> Felt {
    if classes == Felt::ZERO && (contracts == Felt::ZERO || !always_joined) {
        return contracts;
    }
    Poseidon::hash_array(&[short_string("STARKNET_STATE_V0"), contracts, classes])
}

/// The class trie's leaf; without a compiled class there is none.
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
        tries.apply(&StateChange {
            storage: vec![[felt(9), felt(1), felt(2)]],
            class_hashes: vec![[felt(9), felt(77)]],
            ..StateChange::default()
        });
        let before = tries.root(false);
        let later = |value, class, nonce, compiled| StateChange {
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
        tries.apply(&StateChange { nonces: vec![[felt(1), felt(1)]], ..StateChange::default() });
        assert_ne!(tries.root(true), tries.root(false));
    }
}
