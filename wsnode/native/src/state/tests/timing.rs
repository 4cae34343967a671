//! Times and sizes of blocks like those of a busy chain: `cargo test --release -- --ignored --nocapture`.

use super::*;
use std::time::{Duration, Instant};

const BLOCKS: u64 = 1_000;
const BATCH: u64 = 100;

/// Return a block's changes: 200 of 2,000 accounts, 240 of a token's 4,000 slots, and 10 small contracts.
fn bundle(store: &StateStore, numbers: &mut Numbers) -> BundleState {
    let database = WrapDatabaseRef(store.latest());
    let mut evm = StateBuilder::new().with_database(database).with_bundle_update().build();
    let mut changes = AddressMap::default();
    for _ in 0..200 {
        let address = Address::from_slice(&keccak256(numbers.below(2_000).to_be_bytes())[..20]);
        let mut account = EvmAccount::default().with_info(evm.basic(address).unwrap().unwrap_or_default());
        account.mark_touch();
        account.info.nonce += 1;
        account.info.balance = U256::from(numbers.next()) << 8;
        changes.insert(address, account);
    }
    for (token, slots, all) in [(0u64, 240, 4_000), (1 + numbers.below(200), 10, 30)] {
        let address = Address::from_slice(&keccak256((1 << 40 | token).to_be_bytes())[..20]);
        let info = evm.basic(address).unwrap().unwrap_or(AccountInfo { nonce: 1, ..AccountInfo::default() });
        let mut account = EvmAccount::default().with_info(info);
        account.mark_touch();
        for _ in 0..slots {
            let slot = U256::from_be_bytes(keccak256(numbers.below(all).to_be_bytes()).0);
            let original = evm.storage(address, slot).unwrap();
            let value = U256::from(numbers.next());
            account.storage.insert(slot, EvmStorageSlot::new_changed(original, value, TransactionId::ZERO));
        }
        changes.insert(address, account);
    }
    evm.commit(changes);
    evm.merge_transitions(BundleRetention::PlainState);
    evm.take_bundle()
}

#[test]
#[ignore = "prints times"]
fn times_of_a_thousand_blocks() {
    let folder = Folder::new();
    let mut store = opened(&folder.0, true, 1 << 30).unwrap();
    let nobody: [(Address, GenesisAccount); 0] = [];
    store.init_genesis(hash(0, 0), nobody).unwrap();
    let mut numbers = Numbers(1);
    let (mut applying, mut committing, mut reading) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    for number in 1..=BLOCKS {
        let begin = Instant::now();
        let bundle = bundle(&store, &mut numbers);
        reading += begin.elapsed();
        let begin = Instant::now();
        let state_root = store.apply(number, &bundle).unwrap();
        store.seal(Head { number, hash: hash(0, number), state_root });
        applying += begin.elapsed();
        if number % BATCH == 0 {
            let begin = Instant::now();
            store.commit().unwrap();
            committing += begin.elapsed();
        }
    }
    let begin = Instant::now();
    store.environment.store().sync().unwrap();
    println!("apply {:?} a block", applying / BLOCKS as u32);
    println!("building the bundle, with its reads {:?} a block", reading / BLOCKS as u32);
    println!("commit {:?} a block, sync at the end {:?}", committing / BLOCKS as u32, begin.elapsed());
    sizes(&store);
    reads(&store, &mut numbers);
    let begin = Instant::now();
    store.reader().proof(address(1), &[], named(&store, BLOCKS), Bounds::none()).unwrap();
    println!("proof at the head {:?}", begin.elapsed());
    let begin = Instant::now();
    store.reader().proof(address(1), &[], named(&store, BLOCKS - 100), Bounds::none()).unwrap();
    println!("proof 100 blocks below {:?}", begin.elapsed());
    let begin = Instant::now();
    store.unwind(BLOCKS - 10, None).unwrap();
    println!("unwinding 10 blocks {:?}", begin.elapsed());
}

fn sizes(store: &StateStore) {
    let snapshot = store.environment.read().unwrap();
    let tables = snapshot.tables;
    for (name, table) in [
        ("accounts", tables.accounts),
        ("storage", tables.storage),
        ("changes", tables.changes),
        ("account_nodes", tables.account_nodes),
        ("storage_nodes", tables.storage_nodes),
    ] {
        println!("{name}: {} rows", table.len(&snapshot.txn).unwrap());
    }
    println!("file: {} KiB", store.environment.file_size().unwrap() / 1024);
}

fn reads(store: &StateStore, numbers: &mut Numbers) {
    const COUNT: u32 = 100_000;
    let accounts: Vec<_> =
        (0..2_000u64).map(|n| Address::from_slice(&keccak256(n.to_be_bytes())[..20])).collect();
    let token = Address::from_slice(&keccak256((1u64 << 40).to_be_bytes())[..20]);
    let slots: Vec<_> = (0..4_000u64).map(|n| U256::from_be_bytes(keccak256(n.to_be_bytes()).0)).collect();
    for name in ["head", "any block"] {
        let mut number = || {
            if name == "head" {
                BLOCKS
            } else {
                numbers.below(BLOCKS)
            }
        };
        let begin = Instant::now();
        for n in 0..COUNT as usize {
            let view = at(store, number());
            view.account(accounts[n * 7 % 2_000]).unwrap();
        }
        let reading = begin.elapsed() / COUNT;
        let begin = Instant::now();
        for n in 0..COUNT as usize {
            let view = at(store, number());
            view.storage(token, slots[n * 7 % 4_000]).unwrap();
        }
        println!("at {name}: account {reading:?}, slot {:?}", begin.elapsed() / COUNT);
    }
    let (view, begin) = (at(store, BLOCKS), Instant::now());
    for n in 0..COUNT as usize {
        view.storage(token, slots[n * 7 % 4_000]).unwrap();
    }
    println!("slot at the head, same view {:?}", begin.elapsed() / COUNT);
}
