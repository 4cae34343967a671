//! Test of recorded reads: a change of any other value leaves the outcome of a run unchanged.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use alloy_consensus::Header;
use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_primitives::{address, keccak256, Address, Bytes, TxKind, B256, U256};
use alloy_trie::KECCAK_EMPTY;
use revm::bytecode::opcode::{COINBASE as COINBASE_CODE, *};
use revm::bytecode::Bytecode;
use revm::database::CacheDB;
use revm::state::AccountInfo;

use super::run::{env_after, run, LiveBounds, Ran};
use crate::engine::Engine;
use crate::engine_tests::begun;
use crate::evm::call::{call, CallSite, Layer, Message, Outcome, Overrides, Read, WorkBudget};
use crate::evm::chain_spec::ChainSpec;
use crate::state::HistoryView;

const FORKS: &str = r#"{"alloc": {}, "difficulty": "0x0", "config": {"chainId": 1, "homesteadBlock": 1000,
    "eip150Block": 2000, "eip155Block": 3000, "eip158Block": 3000, "byzantiumBlock": 4000,
    "constantinopleBlock": 5000, "petersburgBlock": 6000, "istanbulBlock": 7000, "berlinBlock": 8000,
    "londonBlock": 9000, "terminalTotalDifficulty": 0, "shanghaiTime": 1000, "cancunTime": 2000,
    "pragueTime": 3000, "osakaTime": 4000, "amsterdamTime": 5000, "depositContractAddress":
    "0x00000000219ab540356cbb839cbe05303d7705fa", "blobSchedule": {
    "cancun": {"target": 3, "max": 6, "baseFeeUpdateFraction": 3338477},
    "prague": {"target": 6, "max": 9, "baseFeeUpdateFraction": 5007716},
    "osaka": {"target": 6, "max": 9, "baseFeeUpdateFraction": 5007716},
    "amsterdam": {"target": 6, "max": 9, "baseFeeUpdateFraction": 5007716}}}}"#;
const BOUNDS: LiveBounds = LiveBounds { gas: 300_000, gas_blocks: 10, reads: 1000, bytes: usize::MAX };
const SENDER: Address = address!("00000000000000000000000000000000000000ee");
const COINBASE: Address = address!("00000000000000000000000000000000000000cc");
const CONTRACTS: [Address; 4] = [
    address!("00000000000000000000000000000000000000a0"),
    address!("00000000000000000000000000000000000000a1"),
    address!("00000000000000000000000000000000000000a2"),
    address!("00000000000000000000000000000000000000a3"),
];
/// Init code of a contract without code, whatever value it is sent.
const CREATED: [u8; 5] = [PUSH1, 0, PUSH1, 0, RETURN];

/// Pseudo-random numbers (xorshift), the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }

    fn one_of<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }

    fn chance(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Account {
    nonce: u64,
    balance: u64,
    code: Vec<u8>,
    slots: BTreeMap<u8, u64>,
}

type World = BTreeMap<Address, Account>;

/// Return the addresses in generated code: contracts, contracts that they may create, a precompiled contract,
/// and an absent account.
fn named() -> Vec<Address> {
    let mut found =
        vec![SENDER, COINBASE, Address::ZERO, Address::with_last_byte(4), Address::with_last_byte(0x77)];
    found.extend(CONTRACTS);
    for creator in CONTRACTS.iter().chain(&[SENDER]) {
        found.extend((0..3).map(|nonce| creator.create(nonce)));
        found.push(creator.create2(B256::ZERO, keccak256(CREATED)));
    }
    found
}

fn push_address(code: &mut Vec<u8>, address: Address) {
    code.push(PUSH20);
    code.extend_from_slice(address.as_slice());
}

/// Append code that leaves one more word on the stack.
fn snippet(numbers: &mut Numbers, code: &mut Vec<u8>, fork: usize) {
    let targets = named();
    match numbers.below(20) {
        0..=2 => code.extend([PUSH1, numbers.below(3) as u8, SLOAD]),
        3 => {
            code.extend([PUSH1, numbers.below(3) as u8, PUSH1, numbers.below(3) as u8, SSTORE, GAS]);
        }
        4 | 5 => {
            push_address(code, numbers.one_of(&targets));
            let codes: &[u8] =
                if fork >= 6 { &[BALANCE, EXTCODESIZE, EXTCODEHASH] } else { &[BALANCE, EXTCODESIZE] };
            code.push(numbers.one_of(codes));
        }
        6 => {
            code.extend([PUSH1, 8, PUSH1, 0, PUSH1, 0]);
            push_address(code, numbers.one_of(&targets));
            code.extend([EXTCODECOPY, PUSH1, 0, MLOAD]);
        }
        7..=11 => call_snippet(numbers, code, fork, &targets),
        12 | 13 => {
            code.push(PUSH5);
            code.extend_from_slice(&CREATED);
            code.extend([PUSH1, 0, MSTORE]);
            let (is_create2, value) = (fork >= 5 && numbers.chance(2), numbers.below(2) as u8);
            if is_create2 {
                code.extend([PUSH1, 0]);
            }
            code.extend([PUSH1, 5, PUSH1, 27, PUSH1, value, if is_create2 { CREATE2 } else { CREATE }]);
        }
        14 if numbers.chance(3) => {
            push_address(code, numbers.one_of(&targets));
            code.push(SELFDESTRUCT);
        }
        15 => code.extend([PUSH1, numbers.below(4) as u8, NUMBER, SUB, BLOCKHASH]),
        16 if fork >= 7 => code.push(SELFBALANCE),
        _ => code.push(block_member(numbers, fork)),
    }
}

fn call_snippet(numbers: &mut Numbers, code: &mut Vec<u8>, fork: usize, targets: &[Address]) {
    let kind = match numbers.below(4) {
        0 => CALL,
        1 if fork >= 4 => STATICCALL,
        2 if fork >= 1 => DELEGATECALL,
        _ => CALLCODE,
    };
    code.extend([PUSH1, 32, PUSH1, 0, PUSH1, 0, PUSH1, 0]);
    if kind == CALL || kind == CALLCODE {
        code.extend([PUSH1, numbers.one_of(&[0, 0, 1, 200])]);
    }
    let contracts = &CONTRACTS[..];
    push_address(code, if numbers.chance(2) { numbers.one_of(contracts) } else { numbers.one_of(targets) });
    code.extend([PUSH2, 0x40 * numbers.below(4) as u8, 0, kind, PUSH1, 0, MLOAD, ADD]);
}

fn block_member(numbers: &mut Numbers, fork: usize) -> u8 {
    let mut codes =
        vec![NUMBER, TIMESTAMP, DIFFICULTY, GASLIMIT, COINBASE_CODE, GAS, GASPRICE, ORIGIN, CALLVALUE];
    codes.extend((fork >= 9).then_some(BASEFEE));
    codes.extend((fork >= 12).then_some(BLOBBASEFEE));
    codes.extend((fork >= 15).then_some(SLOTNUM));
    // Many calls should read no member of the block, so the opcodes that read one are rare.
    if numbers.chance(3) {
        numbers.one_of(&codes)
    } else {
        numbers.one_of(&[GAS, GASPRICE, ORIGIN])
    }
}

fn contract(numbers: &mut Numbers, fork: usize) -> Vec<u8> {
    if fork >= 13 && numbers.chance(8) {
        let delegate = numbers.one_of(&named());
        return [&[0xef, 0x01, 0x00], delegate.as_slice()].concat();
    }
    let mut code = vec![PUSH1, 0];
    for _ in 0..numbers.below(5) {
        snippet(numbers, &mut code, fork);
        code.push(if numbers.chance(2) { ADD } else { XOR });
    }
    let reverts = fork >= 4 && numbers.chance(6);
    let end = if reverts { REVERT } else { RETURN };
    code.extend([PUSH1, 0, MSTORE, PUSH1, 32, PUSH1, 0, end]);
    code
}

fn account(numbers: &mut Numbers, address: Address, fork: usize) -> Option<Account> {
    let is_contract = CONTRACTS.contains(&address);
    if !is_contract && numbers.chance(2) {
        return None;
    }
    let code = if is_contract { contract(numbers, fork) } else { Vec::new() };
    let slots = (0..3).map(|slot| (slot, numbers.below(3) as u64)).filter(|_| is_contract).collect();
    let balance = numbers.one_of(&[0, 0, 1, 150, 1_000_000_000]);
    Some(Account { nonce: numbers.below(3) as u64, balance, code, slots })
}

fn world(numbers: &mut Numbers, fork: usize) -> World {
    named()
        .into_iter()
        .filter_map(|name| account(numbers, name, fork).map(|account| (name, account)))
        .collect()
}

fn header(numbers: &mut Numbers, fork: usize) -> Header {
    Header {
        number: 1000 * fork.min(9) as u64 + 500,
        timestamp: 1000 * fork.saturating_sub(10) as u64 + 500,
        difficulty: U256::from(if fork < 10 { 1 } else { 0 }),
        gas_limit: 30_000_000,
        beneficiary: COINBASE,
        base_fee_per_gas: (fork >= 9).then(|| 1 + numbers.below(3) as u64),
        excess_blob_gas: (fork >= 12).then_some(0),
        mix_hash: B256::with_last_byte(numbers.below(250) as u8),
        ..Header::default()
    }
}

fn message(numbers: &mut Numbers, fork: usize) -> Message {
    let mut message = Message {
        sender: numbers.one_of(&[SENDER, Address::ZERO, CONTRACTS[1]]),
        to: TxKind::Call(numbers.one_of(&CONTRACTS)),
        value: U256::from(numbers.one_of(&[0, 0, 0, 1, 500])),
        gas: numbers.chance(3).then(|| 25_000 + numbers.below(100_000) as u64),
        ..Message::default()
    };
    if numbers.chance(8) {
        message.to = TxKind::Create;
        message.input = Bytes::from(contract(numbers, fork.min(12)));
    } else if numbers.chance(8) {
        message.to = TxKind::Call(numbers.one_of(&named()));
    }
    if numbers.chance(6) {
        message.gas_price = Some(U256::from(numbers.below(4)));
    }
    if fork >= 8 && numbers.chance(6) {
        let item = AccessListItem { address: numbers.one_of(&CONTRACTS), storage_keys: vec![B256::ZERO] };
        message.access_list = Some(AccessList(vec![item]));
    }
    message
}

/// Change the world or the header once, and return whether a run with these reads depends on the change.
fn change(
    numbers: &mut Numbers,
    world: &mut World,
    header: &mut Header,
    reads: &[Read],
    fork: usize,
) -> bool {
    if numbers.chance(4) {
        return change_header(numbers, header, reads);
    }
    let name = numbers.one_of(&named());
    let has = |read: Read| reads.contains(&read);
    let reads_code = reads.iter().any(|read| matches!(read, Read::Code(address, _) if *address == name));
    let reads_nonce = reads.iter().any(|read| matches!(read, Read::Nonce(address, _) if *address == name));
    if numbers.chance(3) {
        let slot = numbers.below(3) as u8;
        let Some(account) = world.get_mut(&name).filter(|account| !account.slots.is_empty()) else {
            return true;
        };
        let value = account.slots.entry(slot).or_default();
        *value += 1 + numbers.below(2) as u64;
        return has(Read::Slot(name, U256::from(slot)));
    }
    let before = world.get(&name).cloned();
    match (&before, numbers.below(5)) {
        (Some(account), 0) if account.slots.is_empty() => {
            world.remove(&name);
        }
        (Some(_), 1) => world.entry(name).or_default().nonce += 1,
        (Some(_), 2) => world.entry(name).or_default().code = contract(numbers, fork),
        _ => world.entry(name).or_default().balance += numbers.one_of(&[1, 300]),
    }
    let code_of = |account: Option<&Account>| account.map(|account| account.code.clone()).unwrap_or_default();
    let has_other_code = code_of(before.as_ref()) != code_of(world.get(&name));
    let nonce_of = |account: Option<&Account>| account.map_or(0, |account| account.nonce);
    let has_other_nonce = nonce_of(before.as_ref()) != nonce_of(world.get(&name));
    has(Read::Account(name)) || (has_other_code && reads_code) || (has_other_nonce && reads_nonce)
}

fn change_header(numbers: &mut Numbers, header: &mut Header, reads: &[Read]) -> bool {
    let read = match numbers.below(7) {
        0 => {
            header.number += 1;
            Read::Block
        }
        1 => {
            header.timestamp += 1;
            Read::Block
        }
        2 => {
            header.mix_hash = B256::repeat_byte(9);
            Read::Block
        }
        3 => {
            header.gas_limit += 1;
            Read::GasLimit
        }
        4 => {
            let coinbases = [header.beneficiary, numbers.one_of(&named())];
            header.beneficiary = coinbases[1];
            let is_among = |read: &Read| matches!(read, Read::Account(account) | Read::Code(account, _) if coinbases.contains(account));
            if reads.iter().any(is_among) {
                return true;
            }
            Read::Coinbase
        }
        5 => {
            header.base_fee_per_gas = header.base_fee_per_gas.map(|fee| fee + 1);
            Read::BaseFee
        }
        _ => {
            header.excess_blob_gas = header.excess_blob_gas.map(|gas| gas + 10_000_000);
            Read::Block
        }
    };
    reads.contains(&read)
}

struct Chain {
    folder: PathBuf,
    engine: Engine,
}

impl Chain {
    fn open(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("wsnode-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let spec = Arc::new(ChainSpec::from_json(FORKS.as_bytes()).unwrap());
        let (engine, _) = begun(&folder, spec);
        Self { folder, engine }
    }

    fn layer(&self, world: &World) -> Layer<'_> {
        let genesis = self.engine.committed_head().unwrap();
        let view = self.engine.reader.at(alloy_eips::BlockNumHash::new(0, genesis.hash)).unwrap();
        let mut values = CacheDB::new(view);
        world.iter().for_each(|(address, account)| put(&mut values, *address, account));
        Layer::Cached(Box::new(values))
    }

    fn run(&self, world: &World, header: &Header, message: &Message) -> Ran {
        let work_budget = WorkBudget::new(None, None);
        let mut env = env_after(&self.engine.spec, self.layer(world), header, &work_budget);
        run(&mut env, header, message, BOUNDS).unwrap().unwrap()
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn put(values: &mut CacheDB<HistoryView<'_>>, address: Address, account: &Account) {
    let code = Bytecode::new_raw(account.code.clone().into());
    let code_hash = if account.code.is_empty() { KECCAK_EMPTY } else { keccak256(&account.code) };
    let info = AccountInfo {
        nonce: account.nonce,
        balance: U256::from(account.balance),
        code_hash,
        code: Some(code),
        ..AccountInfo::default()
    };
    values.insert_account_info(address, info);
    for (slot, value) in &account.slots {
        values.insert_account_storage(address, U256::from(*slot), U256::from(*value)).unwrap();
    }
}

#[test]
fn a_change_of_what_is_not_read_leaves_the_outcome() {
    let (chain, mut checked, mut depending) = (Chain::open("changes"), 0, 0);
    let cases: u64 =
        std::env::var("WSNODE_READ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(6_000);
    for case in 0..cases {
        let numbers = &mut Numbers(0x9e37_79b9_7f4a_7c15 ^ (case + 1).wrapping_mul(0xd134_2543_de82_ef95));
        numbers.below(1);
        let fork = case as usize % 16;
        let (before, header) = (world(numbers, fork), header(numbers, fork));
        let message = message(numbers, fork);
        let ran = chain.run(&before, &header, &message);
        let Some(reads) = &ran.reads else { continue };
        for _ in 0..6 {
            let (mut after, mut next) = (before.clone(), header.clone());
            if change(numbers, &mut after, &mut next, reads, fork) {
                depending += 1;
                continue;
            }
            let again = chain.run(&after, &next, &message);
            let (text, other) = (String::from_utf8_lossy(&ran.text), String::from_utf8_lossy(&again.text));
            assert_eq!(text, other, "case {case}: {message:?} {reads:?} {before:?} -> {after:?}, {next:?}");
            checked += 1;
        }
    }
    assert!(checked as u64 > 2 * cases && depending as u64 > cases / 2, "{checked} {depending}");
}

#[test]
fn noting_reads_changes_no_outcome() {
    let chain = Chain::open("noting");
    for case in 0..2_000 {
        let numbers = &mut Numbers(0x2545_f491_4f6c_dd1d ^ ((case + 1) * 0x9e37_79b9));
        numbers.below(1);
        let fork = case as usize % 16;
        let (world, header, message) = (world(numbers, fork), header(numbers, fork), message(numbers, fork));
        let work_budget = WorkBudget::new(None, None);
        let site = CallSite {
            spec: &chain.engine.spec,
            layer: chain.layer(&world),
            header: &header,
            overrides: Overrides::default(),
        };
        let cap = crate::evm::call::gas_cap(header.gas_limit, BOUNDS.gas_blocks);
        let message = Message { gas: message.gas.or(Some(BOUNDS.gas)), ..message };
        let plain = call(site, &message, cap, &work_budget);
        let ran = chain.run(&world, &header, &message);
        match plain {
            Ok(
                Outcome::Success { gas_used, .. }
                | Outcome::Revert { gas_used, .. }
                | Outcome::Halt { gas_used, .. },
            ) => {
                assert_eq!(ran.cost, gas_used, "case {case}");
            }
            other => assert!(ran.text.starts_with(b"\"error\""), "{other:?}"),
        }
    }
}

#[test]
fn a_creation_reads_the_balance_of_its_creator_only_to_send_from_it() {
    let chain = Chain::open("creations");
    let (header, factory) = (header(&mut Numbers(7), 15), CONTRACTS[0]);
    let account = |code: Vec<u8>| Account { nonce: 5, balance: 9, code, ..Account::default() };
    let create =
        |value: u8| vec![PUSH1, 0, PUSH1, 0, PUSH1, value, CREATE, PUSH1, 0, PUSH1, 0, PUSH1, value, CREATE];
    let reads = |message: Message, code: Vec<u8>| {
        let world = World::from([(SENDER, account(Vec::new())), (factory, account(code))]);
        chain.run(&world, &header, &message).reads.unwrap()
    };
    for value in [0, 1] {
        let message =
            Message { sender: SENDER, value: U256::from(value), to: TxKind::Create, ..Message::default() };
        let found = reads(message, Vec::new());
        assert!(found.contains(&Read::Nonce(SENDER, 5)) && found.contains(&Read::Account(SENDER.create(5))));
        assert_eq!(found.contains(&Read::Account(SENDER)), value == 1);

        let message = Message { sender: SENDER, to: TxKind::Call(factory), ..Message::default() };
        let found = reads(message, create(value));
        let nonces: Vec<_> = found.iter().filter(|read| matches!(read, Read::Nonce(..))).collect();
        assert_eq!(nonces, [&Read::Nonce(factory, 5)]);
        assert!((5..7).all(|nonce| found.contains(&Read::Account(factory.create(nonce)))));
        assert_eq!(found.contains(&Read::Account(factory)), value == 1);
    }
}
