//! Tests of map growth, schema, genesis, history bounds, and the order of blocks.

use super::*;

#[test]
fn a_full_map_grows() {
    let folder = Folder::new();
    let mut chain = Chain::with_map(&folder.0, 1, 128 << 10);
    for block in 1..400 {
        chain.advance();
        if block % 50 == 0 {
            chain.store.commit().unwrap();
        }
    }
    chain.store.commit().unwrap();
    chain.check_history();
}

#[test]
fn a_map_grows_beside_readers_of_its_process() {
    let folder = Folder::new();
    let mut chain = Chain::with_map(&folder.0, 7, 128 << 10);
    let (reader, done) = (chain.store.reader(), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while done.load(Ordering::Relaxed) == 0 {
                    let view = reader.at(name_of(reader.committed_head().unwrap())).unwrap();
                    assert!(view.account(Address::repeat_byte(9)).unwrap().is_some());
                }
            });
        }
        for _ in 0..150 {
            chain.advance();
            chain.store.commit().unwrap();
        }
        done.store(1, Ordering::Relaxed);
    });
    chain.check_history();
}

#[test]
fn a_pinned_reader_goes_on_while_the_map_grows() {
    let folder = Folder::new();
    let mut chain = Chain::with_map(&folder.0, 7, 128 << 10);
    let pinned = chain.store.reader().pin().unwrap();
    let before = pinned.committed_head().unwrap();
    for _ in 0..150 {
        chain.advance();
        chain.store.commit().unwrap();
        assert_eq!(pinned.committed_head().unwrap(), before);
    }
    assert!(chain.store.environment.map_size() > 256 << 10);
    let view = pinned.at(name_of(before)).unwrap();
    assert!(view.account(Address::repeat_byte(9)).unwrap().is_some());
    chain.check_history();
}

#[test]
fn a_store_keeps_its_genesis() {
    let folder = Folder::new();
    let mut chain = Chain::new(&folder.0, 3);
    let nobody: [(Address, GenesisAccount); 0] = [];
    assert_eq!(chain.store.genesis_hash().unwrap(), Some(hash(0, 0)));
    assert_eq!(chain.store.init_genesis(hash(0, 0), nobody.clone()).unwrap(), root_of(chain.head()));
    let refused = chain.store.init_genesis(hash(9, 9), nobody).unwrap_err();
    assert!(matches!(refused, StateError::OtherGenesis { .. }));
}

#[test]
fn an_empty_genesis_and_an_empty_block_have_the_empty_root() {
    let folder = Folder::new();
    let mut store = opened(&folder.0, true, 1 << 30).unwrap();
    let nobody: [(Address, GenesisAccount); 0] = [];
    assert_eq!(store.init_genesis(hash(0, 0), nobody).unwrap(), alloy_trie::EMPTY_ROOT_HASH);
    let state_root = store.apply(1, &BundleState::default()).unwrap();
    assert_eq!(state_root, alloy_trie::EMPTY_ROOT_HASH);
    store.seal(Head { number: 1, hash: hash(0, 1), state_root });
    store.commit().unwrap();
    assert_eq!(store.unwind(0, None).unwrap().number, 0);
}

#[test]
fn blocks_beyond_the_committed_head_have_no_history() {
    let folder = Folder::new();
    let mut chain = Chain::new(&folder.0, 4);
    chain.advance();
    let reader = chain.store.reader();
    let next = name_of(chain.store.head());
    let refused = reader.at(next).unwrap_err();
    assert!(matches!(refused, StateError::Reorganised { number: 1, found: None, .. }));
    assert!(matches!(
        reader.proof(address(0), &[], next, Bounds::none()),
        Err(StateError::Reorganised { .. })
    ));
    let refused = chain.store.apply(3, &BundleState::default()).unwrap_err();
    assert!(matches!(refused, StateError::NotNext { head: 1, found: 3 }));
    chain.store.commit().unwrap();
    assert!(matches!(chain.store.unwind(2, None), Err(StateError::NoHistory { .. })));
    assert_eq!(reader.at(next).unwrap().number(), 1);
}

#[test]
fn a_block_is_read_by_its_hash_and_not_by_its_number_alone() {
    let folder = Folder::new();
    let mut chain = Chain::new(&folder.0, 8);
    for _ in 0..6 {
        chain.advance();
    }
    chain.store.commit().unwrap();
    let (kept, dropped) = (named(&chain.store, 3), named(&chain.store, 5));
    chain.store.unwind(3, None).unwrap();
    chain.model.truncate(4);
    chain.fork = 1;
    let reader = chain.store.reader();
    let gone = |found: Option<B256>| {
        let expected = (dropped.number, dropped.hash, found);
        for error in [
            reader.at(dropped).unwrap_err(),
            reader.proof(address(0), &[], dropped, Bounds::none()).unwrap_err(),
            reader.trial(dropped, Bounds::none()).unwrap_err(),
        ] {
            let StateError::Reorganised { number, wanted, found } = error else { panic!("{error}") };
            assert_eq!((number, wanted, found), expected);
        }
    };
    gone(None);
    for _ in 0..4 {
        chain.advance();
    }
    chain.store.commit().unwrap();
    gone(Some(hash(1, 5)));
    assert_eq!(reader.at(kept).unwrap().number(), 3);
    chain.check_history();
}

#[test]
fn a_reader_needs_a_store_and_reads_what_is_committed() {
    let folder = Folder::new();
    assert!(opened(&folder.0, false, 1 << 30).is_err());
    let mut chain = Chain::new(&folder.0, 5);
    for _ in 0..20 {
        chain.advance();
    }
    chain.store.commit().unwrap();
    chain.advance();
    let Chain { store, mut model, numbers, fork } = chain;
    drop(store);
    model.pop();
    let store = opened(&folder.0, false, 1 << 30).unwrap();
    let chain = Chain { store, model, numbers, fork };
    assert_eq!(chain.store.head().number, 20);
    chain.check_latest();
    chain.check_history();
}

#[test]
fn code_is_read_by_its_hash_before_and_after_the_commit() {
    let folder = Folder::new();
    let mut chain = Chain::new(&folder.0, 6);
    for committed in [false, true] {
        for _ in 0..20 {
            chain.advance();
        }
        if committed {
            chain.store.commit().unwrap();
        }
        let view = chain.store.latest();
        for (account, _) in chain.head().values().filter(|known| known.0.code_hash != KECCAK_EMPTY) {
            assert_eq!(view.code(account.code_hash).unwrap().hash_slow(), account.code_hash);
        }
    }
}
