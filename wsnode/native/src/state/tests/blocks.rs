//! Random blocks: roots, reads at every block, rollback, reopening, unwinding, proofs.

use super::*;
use alloy_trie::proof::verify_proof;
use alloy_trie::{Nibbles, EMPTY_ROOT_HASH};

#[test]
fn every_block_reads_as_it_was_after_commits_rollbacks_and_reopening() {
    for seed in 0..4 {
        let folder = Folder::new();
        let mut chain = Chain::new(&folder.0, seed);
        for _ in 0..150 {
            chain.advance();
            if chain.numbers.below(5) == 0 {
                let (bundle, after) = chain.execute(true);
                assert_eq!(chain.store.apply(chain.number() + 1, &bundle).unwrap(), root_of(&after));
                chain.store.rollback().unwrap();
            }
            chain.check_latest();
            if chain.numbers.below(6) == 0 {
                chain.store.commit().unwrap();
            }
            if chain.numbers.below(20) == 0 {
                chain = reopened(chain, &folder);
            }
        }
        chain.store.commit().unwrap();
        chain.check_history();
        assert_eq!(chain.store.latest().block_hash(7).unwrap(), hash(0, 7));
    }
}

fn reopened(mut chain: Chain, folder: &Folder) -> Chain {
    chain.store.commit().unwrap();
    let head = chain.store.head();
    let Chain { store, model, numbers, fork } = chain;
    drop(store);
    let store = opened(&folder.0, true, 1 << 30).unwrap();
    assert_eq!(store.head(), head);
    Chain { store, model, numbers, fork }
}

#[test]
fn an_unwound_chain_goes_on_as_another_fork() {
    for seed in 10..14 {
        let folder = Folder::new();
        let mut chain = Chain::new(&folder.0, seed);
        for fork in 1..12 {
            for _ in 0..1 + chain.numbers.below(25) {
                chain.advance();
            }
            chain.store.commit().unwrap();
            let number = chain.numbers.below(chain.number() + 1);
            let head = chain.store.unwind(number, None).unwrap();
            chain.model.truncate(number as usize + 1);
            assert_eq!((head.number, head.state_root), (number, root_of(chain.head())));
            assert_eq!(chain.store.committed_head().unwrap(), head);
            chain.fork = fork;
            chain.check_latest();
        }
        chain.check_history();
    }
}

#[test]
fn a_store_unwound_to_genesis_holds_the_rows_of_genesis_alone() {
    let (folder, fresh) = (Folder::new(), Folder::new());
    let mut chain = Chain::new(&folder.0, 20);
    for _ in 0..60 {
        chain.advance();
    }
    chain.store.commit().unwrap();
    chain.store.unwind(0, None).unwrap();
    let expected = Chain::new(&fresh.0, 20);
    let (found, expected) = (rows(&chain.store), rows(&expected.store));
    assert_eq!(found, expected);
}

/// Return the number of rows of every table but `code`.
fn rows(store: &StateStore) -> Vec<u64> {
    let snapshot = store.environment.read().unwrap();
    let tables = snapshot.tables;
    let all = [
        tables.accounts,
        tables.storage,
        tables.changes,
        tables.hashes,
        tables.account_nodes,
        tables.storage_nodes,
    ];
    all.iter().map(|table| table.len(&snapshot.txn).unwrap()).collect()
}

#[test]
fn discarding_uncommitted_blocks_returns_to_the_committed_head() {
    let folder = Folder::new();
    let mut chain = Chain::new(&folder.0, 21);
    for _ in 0..10 {
        chain.advance();
    }
    chain.store.commit().unwrap();
    let model = chain.model.clone();
    for _ in 0..10 {
        chain.advance();
    }
    chain.store.discard_uncommitted().unwrap();
    chain.model = model;
    chain.check_latest();
    chain.advance();
}

#[test]
fn the_root_of_the_next_block_is_known_without_it() {
    let folder = Folder::new();
    let mut chain = Chain::new(&folder.0, 23);
    let bundles: Vec<_> = (0..60).map(|_| chain.advance()).collect();
    chain.store.commit().unwrap();
    // The uncommitted block must not change the roots that the reader computes.
    chain.advance();
    let reader = chain.store.reader();
    for (number, bundle) in bundles.iter().enumerate() {
        let tries = reader.trial(named(&chain.store, number as u64), Bounds::none()).unwrap();
        assert_eq!(tries.next_root(bundle).unwrap(), root_of(&chain.model[number + 1]));
    }
}

#[test]
fn proofs_verify_at_every_block() {
    let folder = Folder::new();
    let mut chain = Chain::new(&folder.0, 22);
    for _ in 0..40 {
        chain.advance();
    }
    chain.store.commit().unwrap();
    for number in (0..=40).step_by(4) {
        let model = &chain.model[number as usize];
        for address in (0..40).map(address) {
            check_proof(&chain.store, model, address, number);
        }
    }
}

fn check_proof(store: &StateStore, model: &Accounts, address: Address, number: u64) {
    let slots: Vec<_> = (0..6).map(|slot| B256::from(U256::from(slot))).collect();
    let proof = store.reader().proof(address, &slots, named(store, number), Bounds::none()).unwrap();
    let known = model.get(&address);
    assert_eq!(proof.account.is_some(), known.is_some());
    let leaf = proof.account.as_ref().map(alloy_rlp::encode);
    verify_proof(root_of(model), Nibbles::unpack(keccak256(address)), leaf, &proof.nodes).unwrap();
    let storage_root = proof.account.map_or(EMPTY_ROOT_HASH, |account| account.storage_root);
    assert_eq!(proof.storage_root, storage_root);
    for slot in proof.slots {
        let expected = known.and_then(|known| known.1.get(&slot.slot.into())).copied().unwrap_or_default();
        assert_eq!(slot.value, expected);
        let leaf = (!expected.is_zero()).then(|| alloy_rlp::encode(expected));
        verify_proof(storage_root, Nibbles::unpack(keccak256(slot.slot)), leaf, &slot.nodes).unwrap();
    }
}

#[test]
fn a_branch_replaces_another_in_one_commit() {
    for seed in 50..54 {
        let folder = Folder::new();
        let mut chain = Chain::new(&folder.0, seed);
        for fork in 1..12 {
            for _ in 0..1 + chain.numbers.below(25) {
                chain.advance();
            }
            chain.store.commit().unwrap();
            let old = chain.store.committed_head().unwrap();
            let number = chain.numbers.below(chain.number() + 1);
            chain.store.rewind(number, None).unwrap();
            chain.model.truncate(number as usize + 1);
            chain.fork = fork;
            chain.check_latest();
            for _ in 0..chain.numbers.below(12) {
                chain.advance();
                chain.check_latest();
                if chain.numbers.below(3) == 0 {
                    let (bundle, after) = chain.execute(true);
                    assert_eq!(chain.store.apply(chain.number() + 1, &bundle).unwrap(), root_of(&after));
                    chain.store.rollback().unwrap();
                }
            }
            let new = chain.store.head();
            assert_eq!(chain.store.committed_head().unwrap(), old);
            chain.store.commit().unwrap();
            assert_eq!(chain.store.committed_head().unwrap(), new);
            chain.check_latest();
        }
        chain.check_history();
    }
}

#[test]
fn blocks_go_on_while_others_are_written() {
    for seed in 60..64 {
        let folder = Folder::new();
        let mut chain = Chain::new(&folder.0, seed);
        let mut committed = chain.model.clone();
        for round in 1..25 {
            if round % 5 == 0 {
                let number = chain.numbers.below(chain.number() + 1);
                chain.store.rewind(number, None).unwrap();
                chain.model.truncate(number as usize + 1);
                chain.fork = chain.numbers.next();
            }
            (0..chain.numbers.below(6)).for_each(|_| drop(chain.advance()));
            let Some(staged) = chain.store.stage().unwrap() else { continue };
            assert!(matches!(chain.store.stage(), Err(StateError::Uncommitted { .. })));
            go_on(&mut chain);
            if chain.numbers.below(4) == 0 {
                // The transaction has failed here, so the head is the last committed block.
                chain.store.discard_uncommitted().unwrap();
                chain.model.clone_from(&committed);
                chain.check_latest();
                continue;
            }
            chain.store.write(|txn, _| staged.write(txn)).unwrap();
            go_on(&mut chain);
            chain.store.settle(&staged).unwrap();
            go_on(&mut chain);
            chain.store.commit().unwrap();
            committed.clone_from(&chain.model);
            chain.check_history();
        }
    }
}

/// Put some blocks on top of those that are being written, and undo one.
fn go_on(chain: &mut Chain) {
    for _ in 0..chain.numbers.below(4) {
        chain.advance();
        chain.check_latest();
    }
    let (bundle, after) = chain.execute(true);
    assert_eq!(chain.store.apply(chain.number() + 1, &bundle).unwrap(), root_of(&after));
    chain.store.rollback().unwrap();
    chain.check_latest();
}
