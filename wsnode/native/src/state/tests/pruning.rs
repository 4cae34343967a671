//! Tests of pruning: states before a block are dropped, later ones stay as they were.

use super::*;

/// Drop the states before block `number`, a few values at a time.
fn prune(chain: &mut Chain, number: u64) {
    while chain.store.prune(number, 3).unwrap() {}
}

/// Check every state from block `first` on, and the refusal of those before.
fn check_from(chain: &Chain, first: u64) {
    for (number, model) in chain.model.iter().enumerate().skip(first as usize) {
        let view = at(&chain.store, number as u64);
        check(
            model,
            |address| view.account(address).unwrap(),
            |address, slot| view.storage(address, slot).unwrap(),
        );
        let proof =
            chain.store.reader().proof(address(1), &[], named(&chain.store, number as u64), Bounds::none());
        assert_eq!(
            proof.unwrap().nodes.first().map(keccak256),
            Some(root_of(model)).filter(|_| !model.is_empty())
        );
    }
    for number in first.saturating_sub(3)..first {
        let refused = chain.store.reader().at(named(&chain.store, number)).map(|_| ());
        assert!(matches!(refused, Err(StateError::Reorganised { found: None, .. })));
    }
}

/// Return the number of stored values and lists.
fn rows(store: &StateStore) -> u64 {
    let snapshot = store.environment.read().unwrap();
    let tables = snapshot.tables;
    let versions = |table: crate::store::Table| -> u64 {
        let rows = table.iter(&snapshot.txn).unwrap().map(|row| row.unwrap());
        rows.map(|(_, row)| layout::versions::versions_in(row, 0).unwrap().len() as u64).sum()
    };
    let lists = tables.changes.len(&snapshot.txn).unwrap();
    versions(tables.accounts) + versions(tables.storage) + lists
}

#[test]
fn states_from_the_first_on_are_what_they_were_through_commits_and_unwinding() {
    for seed in 100..112 {
        let folder = Folder::new();
        let mut chain = Chain::new(&folder.0, seed);
        let mut first = 0;
        for _ in 0..40 {
            for _ in 0..1 + chain.numbers.below(4) {
                chain.advance();
            }
            chain.store.commit().unwrap();
            if chain.numbers.below(4) == 0 {
                let back = first + chain.numbers.below(chain.number() - first + 1);
                chain.store.unwind(back, None).unwrap();
                chain.model.truncate(back as usize + 1);
                chain.fork += 1;
            }
            // The number of slices is random, so pruning is complete, cut short, or has hardly begun.
            first = first.max(chain.number().saturating_sub(2 + chain.numbers.below(9)));
            let slices = chain.numbers.below(40);
            chain.store.prune(first, 1).unwrap();
            for _ in 0..slices {
                chain.store.prune(first, 3).unwrap();
            }
            check_from(&chain, first);
            chain.check_latest();
        }
        // A process that opens the store after an interrupted pruning must find complete states, too.
        let Chain { store, model, numbers, fork } = chain;
        drop(store);
        let store = opened(&folder.0, true, 1 << 30).unwrap();
        let mut chain = Chain { store, model, numbers, fork };
        prune(&mut chain, first);
        check_from(&chain, first);
        assert!(chain.store.unwind(first, None).is_ok());
    }
}

#[test]
fn what_is_stored_stops_growing() {
    let folder = Folder::new();
    let mut chain = Chain::new(&folder.0, 120);
    let mut most = [0; 2];
    for number in 1..=900 {
        chain.advance();
        // Only rows of the latest blocks are checked, so older models are emptied.
        chain.model.iter_mut().rev().nth(20).map(std::mem::take);
        chain.store.commit().unwrap();
        let first = chain.number().saturating_sub(10);
        prune(&mut chain, first);
        let half = &mut most[usize::from(number > 450)];
        *half = rows(&chain.store).max(*half);
    }
    assert!(most[1] < most[0] + most[0] / 4, "{most:?}");
    chain.check_latest();
}

#[test]
fn values_that_are_gone_leave_nothing_behind() {
    let folder = Folder::new();
    let mut chain = Chain::new(&folder.0, 121);
    for _ in 0..30 {
        chain.advance();
        chain.store.commit().unwrap();
    }
    prune(&mut chain, 30);
    let values: usize = chain.head().values().map(|(_, slots)| 1 + slots.len()).sum();
    assert_eq!(rows(&chain.store), values as u64);
}

#[test]
fn old_hashes_go_when_no_block_can_read_them() {
    let folder = Folder::new();
    let mut store = opened(&folder.0, true, 1 << 30).unwrap();
    let nobody: [(Address, GenesisAccount); 0] = [];
    store.init_genesis(hash(0, 0), nobody.clone()).unwrap();
    for number in 1..=600 {
        let state_root = store.apply(number, &BundleState::default()).unwrap();
        store.seal(Head { number, hash: hash(0, number), state_root });
    }
    store.commit().unwrap();
    while store.prune(500, 1).unwrap() {}
    let snapshot = store.environment.read().unwrap();
    let known = (1..=600).filter(|number| snapshot.block(*number).unwrap().is_some());
    assert_eq!(known.collect::<Vec<_>>(), (244..=600).collect::<Vec<_>>());
    drop(snapshot);
    assert!(matches!(
        store.unwind(499, None),
        Err(StateError::NoHistory { requested: 499, earliest: 500, latest: 600 })
    ));
    drop(store);
    // The next process initialises the genesis block again.
    let mut store = opened(&folder.0, true, 1 << 30).unwrap();
    store.init_genesis(hash(0, 0), nobody).unwrap();
    assert_eq!(store.unwind(500, None).unwrap().number, 500);
}
