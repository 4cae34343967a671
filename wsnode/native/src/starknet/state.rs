//! The state commitment: every contract's storage, nonce and class, and the trie of declared classes.

use std::collections::{BTreeSet, HashMap};

use starknet_types_core::felt::Felt;
use starknet_types_core::hash::{Pedersen, Poseidon, StarkHash};

use super::felts::short_string;
use super::trie::Trie;

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

#[derive(Default)]
struct Contract {
    class_hash: Felt,
    nonce: Felt,
    storage: Trie<Pedersen>,
}

impl Contract {
    /// The contract's leaf; an address that nothing was ever written to has none.
    fn leaf(&mut self) -> Felt {
        let storage_root = self.storage.root();
        if [self.class_hash, self.nonce, storage_root] == [Felt::ZERO; 3] {
            return Felt::ZERO;
        }
        let code_and_storage = Pedersen::hash(&self.class_hash, &storage_root);
        let with_nonce = Pedersen::hash(&code_and_storage, &self.nonce);
        Pedersen::hash(&with_nonce, &Felt::ZERO)
    }
}

/// The whole state in memory, as far as the roots need it.
#[derive(Default)]
pub struct StateTries {
    contracts: HashMap<Felt, Contract>,
    contract_trie: Trie<Pedersen>,
    class_trie: Trie<Poseidon>,
}

impl StateTries {
    /// Apply a block's change.
    pub fn apply(&mut self, change: &StateChange) {
        let mut touched = BTreeSet::new();
        for [address, key, value] in &change.storage {
            self.contract(address, &mut touched).storage.set(key, *value);
        }
        for [address, class_hash] in &change.class_hashes {
            self.contract(address, &mut touched).class_hash = *class_hash;
        }
        for [address, nonce] in &change.nonces {
            self.contract(address, &mut touched).nonce = *nonce;
        }
        for address in touched {
            let leaf = self.contracts.entry(address).or_default().leaf();
            self.contract_trie.set(&address, leaf);
        }
        for [class_hash, compiled] in &change.compiled_classes {
            self.class_trie.set(class_hash, class_leaf(compiled));
        }
    }

    /// The global state root; `always_joined` as of version 0.14, when an empty class trie no longer lets the
    /// contracts' root stand alone.
    pub fn root(&mut self, always_joined: bool) -> Felt {
        let contracts = self.contract_trie.root();
        let classes = self.class_trie.root();
        if classes == Felt::ZERO && (contracts == Felt::ZERO || !always_joined) {
            return contracts;
        }
        Poseidon::hash_array(&[short_string("STARKNET_STATE_V0"), contracts, classes])
    }

    fn contract(&mut self, address: &Felt, touched: &mut BTreeSet<Felt>) -> &mut Contract {
        touched.insert(*address);
        self.contracts.entry(*address).or_default()
    }
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
        let mut tries = StateTries::default();
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
        let mut tries = StateTries::default();
        assert_eq!(tries.root(true), Felt::ZERO);
        tries.apply(&StateChange { nonces: vec![[felt(1), felt(1)]], ..StateChange::default() });
        assert_ne!(tries.root(true), tries.root(false));
    }
}
