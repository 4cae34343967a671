//! Tests of the store with random blocks, next to a model that keeps every block's state whole.

mod blocks;
mod committing;
mod keeping;
mod patching;
mod processes;
mod pruning;
mod timing;

use super::writing::commit::GenesisAccount;
use super::*;
use crate::trie::tests::Numbers;
use alloy_eips::BlockNumHash;
use alloy_primitives::map::AddressMap;
use alloy_primitives::{keccak256, Address, Bytes, B256, U256};
use alloy_trie::{TrieAccount, KECCAK_EMPTY};
use committing::{opened, Committing};
use revm::bytecode::Bytecode;
use revm::database::states::bundle_state::BundleRetention;
use revm::database::{BundleState, State, StateBuilder, WrapDatabaseRef};
use revm::state::{Account as EvmAccount, AccountInfo, EvmStorageSlot, TransactionId};
use revm::{Database, DatabaseCommit};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

type Slots = BTreeMap<U256, U256>;
type Accounts = BTreeMap<Address, (Account, Slots)>;
type Evm<'s> = State<WrapDatabaseRef<LatestView<'s>>>;

/// Folder that is removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("wsnode-state-{}-{count}", std::process::id())))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Store and its expected contents after each block.
struct Chain {
    store: StateStore,
    model: Vec<Accounts>,
    numbers: Numbers,
    /// Number that makes hashes of this fork's blocks differ from another fork's.
    fork: u64,
}

impl Chain {
    fn new(path: &Path, seed: u64) -> Self {
        Self::with_map(path, seed, 1 << 30)
    }

    fn with_map(path: &Path, seed: u64, map_size: usize) -> Self {
        let mut store = opened(path, true, map_size).unwrap();
        let slots = Slots::from([(U256::from(1), U256::from(2)), (U256::from(3), U256::MAX)]);
        let contract = Account { nonce: 1, balance: U256::ZERO, code_hash: keccak256([1, 2, 3]) };
        let plain = Account { nonce: 0, balance: U256::MAX, code_hash: KECCAK_EMPTY };
        let empty = Account { nonce: 0, balance: U256::ZERO, code_hash: KECCAK_EMPTY };
        let model = Accounts::from([
            (address(0), (contract, slots)),
            (address(1), (plain, Slots::new())),
            (Address::repeat_byte(9), (empty, Slots::new())),
        ]);
        let alloc: Vec<_> = model
            .iter()
            .map(|(address, (account, slots))| {
                let code =
                    if account.code_hash == KECCAK_EMPTY { Bytes::new() } else { Bytes::from([1, 2, 3]) };
                let storage = slots.iter().map(|(slot, value)| ((*slot).into(), (*value).into())).collect();
                (*address, GenesisAccount { nonce: account.nonce, balance: account.balance, code, storage })
            })
            .collect();
        assert_eq!(store.head(), Head::default());
        let root = store.init_genesis(hash(0, 0), alloc).unwrap();
        assert_eq!(root, root_of(&model));
        Self { store, model: vec![model], numbers: Numbers(seed), fork: 0 }
    }

    fn head(&self) -> &Accounts {
        self.model.last().unwrap()
    }

    fn number(&self) -> u64 {
        self.model.len() as u64 - 1
    }

    /// Execute random transactions and return their bundle and the state after them; sometimes take the root
    /// in between.
    fn execute(&mut self, between: bool) -> (BundleState, Accounts) {
        let mut after = self.head().clone();
        let transactions: Vec<u64> = (0..1 + self.numbers.below(6)).map(|_| self.numbers.next()).collect();
        let count = if between { transactions.len() } else { 1 };
        let mut bundle = BundleState::default();
        // Each intermediate root needs the bundle of the transactions so far. Taking it drops the store's
        // view, so the execution begins again.
        for known in 0..count {
            let known = if between { known + 1 } else { transactions.len() };
            after = self.head().clone();
            let database = WrapDatabaseRef(self.store.latest());
            let mut evm = StateBuilder::new().with_database(database).with_bundle_update().build();
            for seed in &transactions[..known] {
                transact(&mut evm, &mut after, &mut Numbers(*seed));
                evm.merge_transitions(BundleRetention::PlainState);
            }
            bundle = evm.take_bundle();
            drop(evm);
            if between {
                assert_eq!(self.store.intermediate_root(&bundle).unwrap(), root_of(&after));
            }
        }
        (bundle, after)
    }

    /// Execute, apply and seal a block, and return its changes.
    fn advance(&mut self) -> BundleState {
        let between = self.numbers.below(3) == 0;
        let (bundle, after) = self.execute(between);
        let number = self.number() + 1;
        let state_root = self.store.apply(number, &bundle).unwrap();
        assert_eq!(state_root, root_of(&after), "block {number}");
        self.store.seal(Head { number, hash: hash(self.fork, number), state_root });
        self.model.push(after);
        bundle
    }

    fn check_latest(&self) {
        let view = self.store.latest();
        check(
            self.head(),
            |address| view.account(address).unwrap(),
            |address, slot| view.storage(address, slot).unwrap(),
        );
    }

    fn check_history(&self) {
        for (number, model) in self.model.iter().enumerate() {
            let view = at(&self.store, number as u64);
            check(
                model,
                |address| view.account(address).unwrap(),
                |address, slot| view.storage(address, slot).unwrap(),
            );
        }
    }
}

fn check(
    model: &Accounts,
    account: impl Fn(Address) -> Option<Account>,
    storage: impl Fn(Address, U256) -> U256,
) {
    for address in (0..40).map(address).chain([Address::repeat_byte(9)]) {
        let expected = model.get(&address);
        assert_eq!(account(address), expected.map(|expected| expected.0));
        for slot in (0..20).map(U256::from) {
            let expected = expected.and_then(|expected| expected.1.get(&slot));
            assert_eq!(storage(address, slot), expected.copied().unwrap_or_default());
        }
    }
}

/// Return a committed block's number and its current hash.
fn named(store: &StateStore, number: u64) -> BlockNumHash {
    name_of(store.environment.read().unwrap().block(number).unwrap().unwrap())
}

fn name_of(head: Head) -> BlockNumHash {
    BlockNumHash { number: head.number, hash: head.hash }
}

fn at(store: &StateStore, number: u64) -> HistoryView<'_> {
    let environment = &store.environment;
    let snapshot = environment.after(environment.read().unwrap(), named(store, number)).unwrap();
    HistoryView::of(snapshot.into(), &store.codes, number, Vec::new())
}

fn address(n: u64) -> Address {
    Address::left_padding_from(&n.to_be_bytes())
}

fn hash(fork: u64, number: u64) -> B256 {
    keccak256([fork.to_be_bytes(), number.to_be_bytes()].concat())
}

fn root_of(model: &Accounts) -> B256 {
    alloy_trie::root::state_root_unhashed(model.iter().map(|(address, (account, slots))| {
        let slots = slots.iter().map(|(slot, value)| (B256::from(*slot), *value));
        let storage_root = alloy_trie::root::storage_root_unhashed(slots);
        (*address, TrieAccount::new(account.nonce, account.balance, storage_root, account.code_hash))
    }))
}

/// Apply one transaction's effect on one account to revm's state and to the model.
fn transact(evm: &mut Evm<'_>, model: &mut Accounts, numbers: &mut Numbers) {
    let address = address(numbers.below(40));
    let info = evm.basic(address).unwrap();
    assert_eq!(info.as_ref().map(Account::from), model.get(&address).map(|known| known.0));
    let mut account = EvmAccount::new_not_existing(TransactionId::ZERO);
    let exists = info.is_some();
    if let Some(info) = info {
        account = EvmAccount::default().with_info(info);
    }
    account.mark_touch();
    match (exists, numbers.below(10)) {
        (true, 0..2) => {
            account.mark_selfdestruct();
            model.remove(&address);
        }
        (true, 2) if account.info.code_hash == KECCAK_EMPTY => {
            account.info = AccountInfo { code: None, ..AccountInfo::default() };
            model.remove(&address);
        }
        (false, 0..6) => create(&mut account, model, address, numbers),
        _ => change(evm, &mut account, model, address, numbers),
    }
    evm.commit(AddressMap::from_iter([(address, account)]));
}

fn create(account: &mut EvmAccount, model: &mut Accounts, address: Address, numbers: &mut Numbers) {
    account.mark_created();
    let code = Bytecode::new_raw(Bytes::from(vec![0x60, numbers.below(4) as u8]));
    account.info = AccountInfo::new(U256::from(numbers.below(5)), 1, code.hash_slow(), code);
    model.insert(address, (Account::from(&account.info), Slots::new()));
    write_slots(account, &mut model.get_mut(&address).unwrap().1, |_| U256::ZERO, numbers);
}

fn change(
    evm: &mut Evm<'_>,
    account: &mut EvmAccount,
    model: &mut Accounts,
    address: Address,
    numbers: &mut Numbers,
) {
    account.info.nonce += 1;
    account.info.balance = U256::from(numbers.next()) << numbers.below(190);
    let known = model.entry(address).or_insert_with(|| (Account::from(&account.info), Slots::new()));
    known.0 = Account::from(&account.info);
    if account.info.code_hash != KECCAK_EMPTY {
        write_slots(account, &mut known.1, |slot| evm.storage(address, slot).unwrap(), numbers);
    }
}

fn write_slots(
    account: &mut EvmAccount,
    known: &mut Slots,
    mut before: impl FnMut(U256) -> U256,
    numbers: &mut Numbers,
) {
    for _ in 0..numbers.below(8) {
        let (slot, value) =
            (U256::from(numbers.below(20)), U256::from(numbers.below(3)) << numbers.below(250));
        let original = account.storage.get(&slot).map_or_else(|| before(slot), |slot| slot.original_value);
        account.storage.insert(slot, EvmStorageSlot::new_changed(original, value, TransactionId::ZERO));
        if value.is_zero() {
            known.remove(&slot)
        } else {
            known.insert(slot, value)
        };
    }
}
