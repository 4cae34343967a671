//! Blocks, patches and steps back in random order, alone, beside readers, and until the process is killed.

use super::processes::{start, wait_for, FOLDER};
use super::*;
use alloy_primitives::map::HashMap;
use alloy_trie::proof::verify_proof;
use alloy_trie::Nibbles;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// States of each block, each noted before it can be read.
type KnownStates = Mutex<HashMap<BlockNumHash, Vec<Accounts>>>;

struct Patched {
    chain: Chain,
    /// Number and state before each patch, oldest first.
    undo: Vec<(u64, Accounts)>,
    known: Option<std::sync::Arc<KnownStates>>,
}

impl Patched {
    fn new(path: &Path, seed: u64) -> Self {
        Self { chain: Chain::new(path, seed), undo: Vec::new(), known: None }
    }

    /// Change the committed state by a random block, patch or step back.
    fn step(&mut self) {
        match self.chain.numbers.below(10) {
            0..4 => self.extend(),
            4..7 => self.patch(),
            7 => self.unwind(),
            _ => self.take_back(),
        }
    }

    fn extend(&mut self) {
        for _ in 0..1 + self.chain.numbers.below(3) {
            self.chain.advance();
            self.publish(self.chain.number(), self.chain.head().clone());
        }
        self.chain.store.commit().unwrap();
    }

    fn publish(&self, number: u64, state: Accounts) {
        if let Some(known) = &self.known {
            let hash = match self.chain.store.sealed_block(number) {
                Some(sealed) => sealed.hash,
                None => named(&self.chain.store, number).hash,
            };
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            known.entry(BlockNumHash { number, hash }).or_default().push(state);
        }
    }

    fn patch(&mut self) {
        let before = self.chain.head().clone();
        let mut after = before.clone();
        let count = 1 + self.chain.numbers.below(3);
        let patches: Vec<_> = (0..count).map(|n| random_patch(10 * n, &mut self.chain.numbers)).collect();
        patches.iter().for_each(|patch| apply(patch, &mut after));
        self.publish(self.chain.number(), after.clone());
        let root = self.chain.store.patch(&patches).unwrap();
        assert_eq!(root, root_of(&after));
        self.undo.push((self.chain.number(), before));
        *self.chain.model.last_mut().unwrap() = after;
    }

    fn unwind(&mut self) {
        let number = self.chain.numbers.below(self.chain.number() + 1);
        self.chain.store.unwind(number, None).unwrap();
        self.forget_above(number);
    }

    /// Go back to a block and to an earlier state of it.
    fn take_back(&mut self) {
        let count = self.undo.len() as u64;
        if count == 0 {
            return;
        }
        let index = self.chain.numbers.below(count) as usize;
        let (number, state) = self.undo[index].clone();
        self.publish(number, state.clone());
        let head = self.chain.store.unwind(number, Some(root_of(&state))).unwrap();
        assert_eq!((head.number, head.state_root), (number, root_of(&state)));
        self.forget_above(number);
        self.undo.truncate(index);
        // A patch without changes began at the same root. The store keeps it, but the test does not go back to it.
        while self.undo.last().is_some_and(|last| *last == (number, state.clone())) {
            self.undo.pop();
        }
        self.chain.model[number as usize] = state;
    }

    fn forget_above(&mut self, number: u64) {
        if number < self.chain.number() {
            self.chain.fork += 1;
        }
        self.chain.model.truncate(number as usize + 1);
        self.undo.retain(|(patched, _)| *patched <= number);
    }
}

fn random_patch(first: u64, numbers: &mut Numbers) -> AccountPatch {
    let mut some = |of: u64| numbers.below(of) == 0;
    let (nonce, balance, code, replaces_storage) = (some(3), some(2), some(4), some(6));
    let slots = (0..numbers.below(5)).map(|_| (U256::from(numbers.below(20)), U256::from(numbers.below(3))));
    let slots = slots.collect::<BTreeMap<_, _>>().into_iter().collect();
    AccountPatch {
        address: address(first + numbers.below(10)),
        nonce: nonce.then(|| numbers.below(3)),
        balance: balance.then(|| U256::from(numbers.below(3))),
        code: code.then(|| vec![0x61; numbers.below(3) as usize].into()),
        slots,
        replaces_storage,
    }
}

fn apply(patch: &AccountPatch, model: &mut Accounts) {
    let nobody = Account { nonce: 0, balance: U256::ZERO, code_hash: KECCAK_EMPTY };
    let (account, slots) = model.entry(patch.address).or_insert_with(|| (nobody, Slots::new()));
    account.nonce = patch.nonce.unwrap_or(account.nonce);
    account.balance = patch.balance.unwrap_or(account.balance);
    account.code_hash = patch.code.as_ref().map_or(account.code_hash, keccak256);
    if patch.replaces_storage {
        slots.clear();
    }
    slots.extend(patch.slots.iter().copied());
    slots.retain(|_, value| !value.is_zero());
    if *account == nobody && slots.is_empty() {
        model.remove(&patch.address);
    }
}

#[test]
fn patches_are_read_built_upon_and_taken_back() {
    for seed in 30..34 {
        let folder = Folder::new();
        let mut patched = Patched::new(&folder.0, seed);
        for _ in 0..120 {
            patched.step();
            patched.chain.check_latest();
            let head = patched.chain.store.committed_head().unwrap();
            assert_eq!(head.state_root, root_of(patched.chain.head()));
        }
        patched.chain.check_history();
        let Patched { chain, undo, .. } = patched;
        let Chain { store, model, numbers, fork } = chain;
        drop(store);
        let store = opened(&folder.0, true, 1 << 30).unwrap();
        let mut patched = Patched { chain: Chain { store, model, numbers, fork }, undo, known: None };
        patched.chain.check_history();
        (0..20).for_each(|_| patched.step());
        patched.chain.check_history();
    }
}

#[test]
fn a_root_that_a_block_never_had_is_refused_and_nothing_happens() {
    let folder = Folder::new();
    let mut patched = Patched::new(&folder.0, 35);
    (0..3).for_each(|_| patched.extend());
    patched.patch();
    let head = patched.chain.store.committed_head().unwrap();
    let refused = patched.chain.store.unwind(1, Some(B256::repeat_byte(7))).unwrap_err();
    assert!(matches!(refused, StateError::UnknownRoot { number: 1, .. }));
    assert_eq!(patched.chain.store.committed_head().unwrap(), head);
    patched.chain.advance();
    assert!(matches!(patched.chain.store.stage_patch(&[]), Err(StateError::Uncommitted { .. })));
}

#[test]
fn readers_beside_patches_and_steps_back_see_a_block_as_it_was_or_not_at_all() {
    let folder = Folder::new();
    let mut patched = Patched::new(&folder.0, 36);
    let known = std::sync::Arc::new(KnownStates::default());
    patched.known = Some(known.clone());
    patched.publish(0, patched.chain.head().clone());
    let (reader, done) = (patched.chain.store.reader(), AtomicBool::new(false));
    let answers: Vec<(u32, u32)> = std::thread::scope(|scope| {
        let (reader, known, done) = (&reader, &*known, &done);
        let ask = |seed| scope.spawn(move || ask_until(reader, known, done, seed));
        let readers: Vec<_> = (0..3).map(ask).collect();
        (0..250).for_each(|_| patched.step());
        done.store(true, Ordering::Relaxed);
        readers.into_iter().map(|reader| reader.join().unwrap()).collect()
    });
    assert!(answers.iter().all(|(exact, gone)| *exact > 0 && *gone > 0), "{answers:?}");
}

/// Read random blocks until `done`, and return the numbers of exact answers and of refusals.
fn ask_until(reader: &StateReader, known: &KnownStates, done: &AtomicBool, seed: u64) -> (u32, u32) {
    let (mut exact, mut gone, mut numbers) = (0, 0, Numbers(seed));
    while !done.load(Ordering::Relaxed) || exact == 0 || gone == 0 {
        let blocks: Vec<_> = held(known).keys().copied().collect();
        let block = blocks[numbers.below(blocks.len() as u64) as usize];
        let asked = match numbers.below(3) {
            0 => ask_view(reader, known, block),
            1 => ask_proof(reader, known, block, address(numbers.below(40))),
            _ => ask_trial(reader, known, block),
        };
        match asked {
            Ok(()) => exact += 1,
            Err(StateError::Reorganised { number, wanted, .. }) => {
                assert_eq!(BlockNumHash { number, hash: wanted }, block);
                gone += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    (exact, gone)
}

fn held(known: &KnownStates) -> std::sync::MutexGuard<'_, HashMap<BlockNumHash, Vec<Accounts>>> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ask_view(reader: &StateReader, known: &KnownStates, block: BlockNumHash) -> Result<(), StateError> {
    let view = reader.at(block)?;
    let states = held(known)[&block].clone();
    assert!(states.iter().any(|state| is_seen(&view, state)), "{block:?}");
    Ok(())
}

fn is_seen(view: &HistoryView<'_>, state: &Accounts) -> bool {
    (0..40).map(address).all(|address| {
        let expected = state.get(&address);
        let slots = expected.map(|expected| &expected.1);
        let value = |slot| slots.and_then(|slots| slots.get(&slot)).copied().unwrap_or_default();
        view.account(address).unwrap() == expected.map(|expected| expected.0)
            && (0..20).map(U256::from).all(|slot| view.storage(address, slot).unwrap() == value(slot))
    })
}

fn ask_proof(
    reader: &StateReader,
    known: &KnownStates,
    block: BlockNumHash,
    address: Address,
) -> Result<(), StateError> {
    let proof = reader.proof(address, &[], block, Bounds::none())?;
    let leaf = proof.account.as_ref().map(alloy_rlp::encode);
    let path = Nibbles::unpack(keccak256(address));
    let states = held(known)[&block].clone();
    let proves = |state| verify_proof(root_of(state), path, leaf.clone(), &proof.nodes).is_ok();
    assert!(states.iter().any(proves), "{block:?}");
    Ok(())
}

fn ask_trial(reader: &StateReader, known: &KnownStates, block: BlockNumHash) -> Result<(), StateError> {
    let mut tries = reader.trial(block, Bounds::none())?;
    let states = held(known)[&block].clone();
    let root = tries.apply([])?;
    let view = tries.view();
    assert!(states.iter().any(|state| root_of(state) == root && is_seen(&view, state)), "{block:?}");
    Ok(())
}

#[test]
fn a_killed_process_leaves_the_state_before_or_after_a_patch() {
    for delay in [40, 90, 170, 260] {
        let folder = Folder::new();
        let mut writer = start("patching::other_process_patches", &folder.0);
        wait_for(&folder.0.join("writing"));
        std::thread::sleep(Duration::from_millis(delay));
        writer.kill().unwrap();
        writer.wait().unwrap();
        let store = opened(&folder.0.join("state"), true, 1 << 30).unwrap();
        let (head, again) = (store.head(), Folder::new());
        let mut expected = Patched::new(&again.0, 42);
        while expected.chain.store.head() != head {
            expected.step();
        }
        let Patched { chain, undo, known } = expected;
        let mut left = Patched { chain: Chain { store, ..chain }, undo, known };
        left.chain.check_history();
        (0..10).for_each(|_| left.extend());
        left.chain.check_history();
    }
}

#[test]
#[ignore = "started by the test above"]
fn other_process_patches() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        return;
    };
    let mut patched = Patched::new(&folder.join("state"), 42);
    std::fs::write(folder.join("writing"), "").unwrap();
    (0..100_000).for_each(|_| patched.step());
}
