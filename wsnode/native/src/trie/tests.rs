//! Tests of the tries against alloy's hash builder, over a store of rows in memory.

use super::*;
use alloy_primitives::{Address, U256};
use alloy_trie::proof::verify_proof;
use alloy_trie::{HashBuilder, TrieAccount};
use std::collections::{BTreeMap, HashMap};

/// Deterministic source of numbers (splitmix64).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

#[derive(Default)]
struct MemoryNodes(HashMap<(Option<B256>, Nibbles), Vec<u8>>);

impl NodeStore for MemoryNodes {
    fn node(&self, owner: Option<&B256>, path: &Nibbles) -> Result<Option<&[u8]>, TrieError> {
        Ok(self.0.get(&(owner.copied(), *path)).map(Vec::as_slice))
    }
}

impl MemoryNodes {
    fn write(&mut self, rows: NodeRows) {
        for path in rows.deleted {
            self.0.remove(&(rows.owner, path));
        }
        for (path, encoded) in rows.written {
            self.0.insert((rows.owner, path), encoded);
        }
    }
}

fn expected_root(leaves: &BTreeMap<Nibbles, Vec<u8>>) -> B256 {
    let mut builder = HashBuilder::default();
    leaves.iter().for_each(|(key, value)| builder.add_leaf(*key, value));
    builder.root()
}

/// Return the number of rows of a new trie with these leaves.
fn expected_rows(leaves: &BTreeMap<Nibbles, Vec<u8>>) -> usize {
    let mut trie = Trie::new(None, EMPTY_ROOT_HASH);
    leaves.iter().for_each(|(key, value)| trie.set(&NoNodes, key, value).unwrap());
    trie.rows().written.len()
}

/// Return a key that differs from others in few nibbles. Extensions, deep branches and inline nodes occur
/// among such keys.
fn crowded_key(numbers: &mut Numbers) -> Nibbles {
    let mut key = [0x11u8; 32];
    for index in [0, 1, 2, 9, 30, 31] {
        if numbers.below(2) == 0 {
            key[index] = [0x11, 0x12, 0x21, 0x31][numbers.below(4) as usize];
        }
    }
    Nibbles::unpack(key)
}

fn random_rounds(seed: u64, rounds: u64, key: impl Fn(&mut Numbers) -> Nibbles) {
    let mut numbers = Numbers(seed);
    let (mut store, mut leaves) = (MemoryNodes::default(), BTreeMap::new());
    let mut trie = Trie::new(None, EMPTY_ROOT_HASH);
    for round in 0..rounds {
        for _ in 0..numbers.below(40) {
            let key = key(&mut numbers);
            if numbers.below(100) < 30 + 40 * (round / 20 % 2) {
                leaves.remove(&key);
                trie.remove(&store, &key).unwrap();
            } else {
                let value = vec![1 + numbers.below(200) as u8; 1 + numbers.below(3).pow(5) as usize];
                trie.set(&store, &key, &value).unwrap();
                leaves.insert(key, value);
            }
        }
        assert_eq!(trie.root(), expected_root(&leaves), "round {round}");
        if numbers.below(3) == 0 {
            store.write(trie.rows());
            trie.saved();
            assert_eq!(store.0.len(), expected_rows(&leaves), "rows after round {round}");
        }
        if numbers.below(5) == 0 {
            store.write(trie.rows());
            trie = Trie::new(None, trie.root());
        }
    }
}

#[test]
fn a_trie_has_the_root_of_its_leaves_after_any_changes() {
    random_rounds(1, 300, |numbers| Nibbles::unpack(keccak256(numbers.below(600).to_be_bytes())));
    for seed in 2..12 {
        random_rounds(seed, 200, crowded_key);
    }
}

#[test]
fn a_trie_that_loses_its_last_leaf_is_empty_and_leaves_no_rows() {
    let mut store = MemoryNodes::default();
    let keys: Vec<_> = (0..50u64).map(|n| Nibbles::unpack(keccak256(n.to_be_bytes()))).collect();
    let mut trie = Trie::new(None, EMPTY_ROOT_HASH);
    keys.iter().for_each(|key| trie.set(&store, key, &[7; 40]).unwrap());
    store.write(trie.rows());
    let mut trie = Trie::new(None, trie.root());
    keys.iter().for_each(|key| trie.remove(&store, key).unwrap());
    assert_eq!(trie.root(), EMPTY_ROOT_HASH);
    store.write(trie.rows());
    assert!(store.0.is_empty());
}

#[test]
fn a_missing_and_a_wrong_node_are_errors() {
    let mut store = MemoryNodes::default();
    let key = |n: u64| Nibbles::unpack(keccak256(n.to_be_bytes()));
    let mut trie = Trie::new(None, EMPTY_ROOT_HASH);
    (0..50).for_each(|n| trie.set(&store, &key(n), &[7; 40]).unwrap());
    let root = trie.root();
    store.write(trie.rows());
    store.0.insert((None, Nibbles::default()), vec![0xc0; 40]);
    let error = Trie::new(None, root).get(&store, &key(1)).unwrap_err();
    assert!(matches!(error, TrieError::WrongNode { .. }));
    let error = Trie::new(None, root).get(&NoNodes, &key(1)).unwrap_err();
    assert!(matches!(error, TrieError::Missing(_)));
}

#[test]
fn proofs_verify_for_present_and_absent_keys() {
    for seed in 20..24 {
        let mut numbers = Numbers(seed);
        let mut store = MemoryNodes::default();
        let mut trie = Trie::new(None, EMPTY_ROOT_HASH);
        let mut leaves = BTreeMap::new();
        for _ in 0..200 {
            let key = if seed % 2 == 0 {
                crowded_key(&mut numbers)
            } else {
                Nibbles::unpack(keccak256(numbers.next().to_be_bytes()))
            };
            let value = vec![1 + numbers.below(100) as u8; 1 + numbers.below(50) as usize];
            trie.set(&store, &key, &value).unwrap();
            leaves.insert(key, value);
        }
        store.write(trie.rows());
        let root = trie.root();
        let mut trie = Trie::new(None, root);
        let absent: Vec<_> =
            (0..50u64).map(|n| Nibbles::unpack(keccak256((n << 40).to_be_bytes()))).collect();
        for key in leaves.keys().chain(&absent) {
            let proof = trie.proof(&store, key).unwrap();
            verify_proof(root, *key, leaves.get(key).cloned(), &proof).unwrap();
        }
    }
}

type Model = BTreeMap<Address, (u64, U256, BTreeMap<B256, U256>)>;

fn model_root(model: &Model) -> B256 {
    alloy_trie::root::state_root_unhashed(model.iter().map(|(address, (nonce, balance, slots))| {
        let storage_root =
            alloy_trie::root::storage_root_unhashed(slots.iter().map(|(slot, value)| (*slot, *value)));
        (*address, TrieAccount::new(*nonce, *balance, storage_root, alloy_trie::KECCAK_EMPTY))
    }))
}

/// Change one account of the model, small storages and removals included, and return the change.
fn change(model: &mut Model, numbers: &mut Numbers) -> AccountChange {
    let address = Address::left_padding_from(&numbers.below(60).to_be_bytes());
    let hashed_address = keccak256(address);
    if numbers.below(6) == 0 {
        let slots = model.remove(&address).map(|account| account.2).unwrap_or_default();
        let slots = slots.keys().map(|slot| (keccak256(slot), U256::ZERO)).collect();
        return AccountChange { hashed_address, update: AccountUpdate::Removed, is_emptied: false, slots };
    }
    let account = model.entry(address).or_insert_with(|| (1, U256::from(1), BTreeMap::new()));
    let mut slots = Vec::new();
    for _ in 0..numbers.below(8) {
        let slot = B256::from(U256::from(numbers.below(30)));
        let value = U256::from(numbers.below(3)) << numbers.below(200);
        slots.push((keccak256(slot), value));
        if value.is_zero() {
            account.2.remove(&slot)
        } else {
            account.2.insert(slot, value)
        };
    }
    (account.0, account.1) = (numbers.next(), U256::from(numbers.next()) << numbers.below(190));
    let update =
        AccountUpdate::Set { nonce: account.0, balance: account.1, code_hash: alloy_trie::KECCAK_EMPTY };
    AccountChange { hashed_address, update, is_emptied: false, slots }
}

#[test]
fn the_state_root_follows_accounts_and_storage_also_under_a_small_memory_limit() {
    for (seed, limit) in [(30, usize::MAX), (31, 40), (32, 0)] {
        let (mut numbers, mut model) = (Numbers(seed), Model::new());
        let (mut store, mut tries) = (MemoryNodes::default(), StateTries::new(EMPTY_ROOT_HASH));
        for round in 0..200 {
            let mut root = EMPTY_ROOT_HASH;
            for _ in 0..1 + numbers.below(10) {
                root = tries.apply(&store, [change(&mut model, &mut numbers)]).unwrap();
            }
            assert_eq!(root, model_root(&model), "round {round}");
            if numbers.below(3) == 0 {
                tries.rows().into_iter().for_each(|rows| store.write(rows));
                tries.saved();
                tries.shrink(limit);
            }
        }
    }
}
