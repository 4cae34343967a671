//! Tests of hostile genesis files and blocks, and of code that runs for minutes.

use alloy_consensus::{Block, BlockBody, Header, TxEnvelope};
use alloy_primitives::{address, hex, TxKind, B256, U256};

use crate::engine_tests::begun;
use crate::error::{Rule, RuleViolation};
use crate::evm::block::{decode_blocks, UnsignedPolicy, UnverifiedBlock};
use crate::evm::build::Base;
use crate::evm::call::{call, Message, Outcome, Overrides, WorkBudget};
use crate::evm::chain_spec::ChainSpec;
use crate::evm::rules::{self, next_difficulty, Ancestor, Chosen};

const MERGED: &str = r#""homesteadBlock": 0, "eip150Block": 0, "eip155Block": 0, "eip158Block": 0,
    "byzantiumBlock": 0, "constantinopleBlock": 0, "petersburgBlock": 0, "istanbulBlock": 0,
    "berlinBlock": 0, "londonBlock": 0"#;

fn spec(config: &str, members: &str) -> Result<ChainSpec, String> {
    let text = format!(r#"{{"config": {{"chainId": 1{config}}}, "alloc": {{}}{members}}}"#);
    ChainSpec::from_json(text.as_bytes()).map_err(|error| error.to_string())
}

/// Return an empty child of the genesis block, with its header altered by `change`.
fn child(spec: &ChainSpec, change: impl FnOnce(&mut Header)) -> UnverifiedBlock {
    let parent = &spec.genesis().header;
    let mut header = Header {
        parent_hash: spec.genesis_hash(),
        number: 1,
        timestamp: parent.timestamp + 10,
        gas_limit: parent.gas_limit,
        state_root: parent.state_root,
        base_fee_per_gas: rules::next_base_fee(spec, parent),
        ..Header::default()
    };
    header.difficulty = next_difficulty(spec, header.timestamp, parent);
    change(&mut header);
    let body = BlockBody::<TxEnvelope> {
        withdrawals: header.withdrawals_root.map(|_| Vec::new().into()),
        ..BlockBody::default()
    };
    let (mut blocks, error) =
        decode_blocks(spec, &[&alloy_rlp::encode(Block::new(header, body))], UnsignedPolicy::Refused);
    assert_eq!(error, None);
    blocks.remove(0)
}

fn verify(spec: &ChainSpec, block: &UnverifiedBlock) -> Result<(), RuleViolation> {
    let header = spec.genesis().header.clone();
    let total = header.difficulty;
    let parent = Ancestor { hash: spec.genesis_hash(), header, ommers: Vec::new() };
    rules::verify(spec, block, &[&parent], total, Chosen::default())
}

#[test]
fn a_genesis_of_nonsense_is_refused_in_one_line() {
    let huge = "9".repeat(5000);
    let nested = "[".repeat(100_000);
    let members = [
        format!(r#", "gasLimit": {huge}"#),
        format!(r#", "difficulty": "0x{}""#, "f".repeat(64)),
        format!(r#", "extraData": {nested}"#),
        r#", "timestamp": "0x1ffffffffffffffff""#.into(),
        r#", "timestamp": -1"#.into(),
        r#", "timestamp": 1e3"#.into(),
        r#", "coinbase": 5"#.into(),
        r#", "mixHash": "0x00""#.into(),
        r#", "nonce": [1]"#.into(),
        r#", "alloc": 7"#.into(),
    ];
    for text in members {
        let refused = spec("", &text).unwrap_err();
        assert!(refused.starts_with("genesis: ") && refused.len() < 250, "{refused}");
        assert!(!refused.contains('\n'), "{refused}");
    }
    for text in ["", "[]", "7", "{}", r#"{"config": {"chainId": 1}}"#, r#"{"config": 5, "alloc": {}}"#] {
        assert!(ChainSpec::from_json(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn blob_gas_of_a_genesis_cannot_overflow() {
    let config = format!(r#", {MERGED}, "terminalTotalDifficulty": 0, "shanghaiTime": 0, "cancunTime": 0"#);
    let members = r#", "excessBlobGas": "0xffffffffffffffff", "blobGasUsed": "0x20000""#;
    assert_eq!(spec(&config, members).unwrap_err(), "genesis: excessBlobGas is out of range");
}

#[test]
fn the_largest_gas_limit_and_timestamp_do_no_harm() {
    let london = MERGED.replace(r#""londonBlock": 0"#, r#""londonBlock": 1"#);
    let members = r#", "gasLimit": "0xffffffffffffffff", "timestamp": "0xfffffffffffffff0""#;
    let chain = spec(&format!(", {london}"), members).unwrap();
    let block = child(&chain, |header| header.timestamp = u64::MAX);
    assert_eq!(verify(&chain, &block).unwrap_err().rule, Rule::GasLimit);
}

#[test]
fn a_difficulty_beyond_80_bits_is_refused() {
    let chain = spec("", &format!(r#", "difficulty": "0x{}""#, "f".repeat(20))).unwrap();
    let block = child(&chain, |_| {});
    assert_eq!(block.header.difficulty.bit_len(), 80 + 1);
    assert_eq!(verify(&chain, &block).unwrap_err().rule, Rule::Difficulty);
}

#[test]
fn proof_of_work_ends_before_shanghai() {
    let config = format!(r#", {MERGED}, "terminalTotalDifficulty": "0xffffffffff", "shanghaiTime": 15"#);
    let chain = spec(&config, r#", "difficulty": "0x20000""#).unwrap();
    assert_eq!(verify(&chain, &child(&chain, |_| {})), Ok(()));
    let late = child(&chain, |header| {
        header.timestamp = 15;
        header.withdrawals_root = Some(alloy_consensus::EMPTY_ROOT_HASH);
        header.difficulty = next_difficulty(&chain, 15, &chain.genesis().header);
    });
    assert_eq!(verify(&chain, &late).unwrap_err().rule, Rule::Difficulty);
}

#[test]
fn a_chain_is_merged_at_its_genesis_by_difficulty_only() {
    let config = |terminal| format!(r#", {MERGED}, "terminalTotalDifficulty": {terminal}"#);
    for (terminal, difficulty, is_merged) in [(0, 0, true), (5, 0, false), (5, 5, true), (5, 4, false)] {
        let chain = spec(&config(terminal), &format!(r#", "difficulty": {difficulty}"#)).unwrap();
        let parent = &chain.genesis().header;
        assert_eq!(chain.is_proof_of_stake_after(parent), is_merged);
        assert_eq!(chain.is_proof_of_stake(U256::from(difficulty)), is_merged);
    }
}

#[test]
fn from_prague_on_a_block_needs_the_contracts_of_requests() {
    let config = format!(
        r#", {MERGED}, "terminalTotalDifficulty": 0, "shanghaiTime": 0, "cancunTime": 0, "pragueTime": 0"#
    );
    let chain = std::sync::Arc::new(spec(&config, "").unwrap());
    let block = child(&chain, |header| {
        header.difficulty = U256::ZERO;
        header.withdrawals_root = Some(alloy_consensus::EMPTY_ROOT_HASH);
        (header.blob_gas_used, header.excess_blob_gas) = (Some(0), Some(0));
        header.parent_beacon_block_root = Some(B256::ZERO);
        header.requests_hash = Some(alloy_eips::eip7685::EMPTY_REQUESTS_HASH);
    });
    let folder = std::env::temp_dir().join(format!("wsnode-contracts-{}", std::process::id()));
    let (engine, _store) = begun(&folder, chain.clone());
    let start = crate::evm::block::genesis(&chain).unwrap();
    let rows: [(&[u8], &[u8]); 1] = [(&start.header_row, &start.body_row)];
    let executed = engine.execute(&[block.into()], &rows, U256::ZERO, Chosen::default()).unwrap();
    let _ = std::fs::remove_dir_all(&folder);
    let violation = executed.error.unwrap().violation;
    assert_eq!((violation.rule, violation.actual.as_str()), (Rule::RequestsHash, "none"));
}

/// Code to hash 2 MB; repeated without a jump, it takes 40 s for 500 million gas.
const HASHING: [u8; 8] = hex!("6220000060002050");

/// Run init code on an empty state with a gas limit of 2^63 - 1, and return the outcome.
fn run(code: Vec<u8>, work_budget: &WorkBudget) -> Outcome {
    let message = Message { to: TxKind::Create, input: code.into(), ..Message::default() };
    run_message(&message, Overrides::default(), work_budget)
}

fn run_message(message: &Message, overrides: Overrides, work_budget: &WorkBudget) -> Outcome {
    static RUNS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let run = RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("wsnode-run-{}-{run}", std::process::id()));
    let chain = std::sync::Arc::new(spec(&format!(", {MERGED}"), "").unwrap());
    let (engine, _store) = begun(&folder, chain.clone());
    let header = crate::evm::block::genesis(&chain).unwrap().header_row;
    let work = |site: crate::evm::call::CallSite<'_>| call(site, message, u64::MAX >> 1, work_budget);
    let outcome = engine.at_block(Base::Row(&header), overrides, work).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    outcome
}

#[test]
fn hashing_without_a_jump_is_interrupted() {
    let budget = WorkBudget::new(Some(5000), None);
    assert_eq!(run(HASHING.repeat(2000), &budget), Outcome::Interrupted { cancelled: false });
    let cancelled = WorkBudget::new(None, Some(std::sync::Arc::new(true.into())));
    assert_eq!(run(HASHING.repeat(2000), &cancelled), Outcome::Interrupted { cancelled: true });
}

/// Return code that loops over copies of `body`, as many as fit into 24,000 bytes, with one jump back.
fn looped(body: &[u8]) -> Vec<u8> {
    let mut code = hex!("5b").to_vec();
    code.extend(body.repeat(24_000 / body.len()));
    code.extend(hex!("600056"));
    code
}

/// Check that slow instructions between two jumps count for the work budget, by their number or by their gas.
///
/// The clock is read only now and then, so a run may exceed its budget by the code between two readings.
#[test]
fn work_between_jumps_is_counted() {
    let bodies: [(&str, &[u8]); 8] = [
        ("SELFBALANCE", &hex!("4750")),
        ("MULMOD", &hex!("60036000196000190950")),
        ("ADDMOD", &hex!("60036000196000190850")),
        ("SMOD", &hex!("60036000190750")),
        ("EXP", &hex!("6000196000190a50")),
        ("DUP1", &hex!("3650")),
        ("BALANCE of ever other accounts", &hex!("5a3150")),
        // The contract is being created, so SLOAD reads no slot from the state.
        ("SLOAD of ever other slots", &hex!("5a5450")),
    ];
    for (name, body) in bodies {
        let work_budget = WorkBudget::new(Some(5000), None);
        assert_eq!(run(looped(body), &work_budget), Outcome::Interrupted { cancelled: false }, "{name}");
        let most = if name.starts_with("SLOAD") { 20_000_000 } else { 1_000_000 };
        assert!(work_budget.gas_charged() < most, "{name}: {}", work_budget.gas_charged());
    }
}

#[test]
fn a_short_call_stays_within_the_budget() {
    let outcome = run(hex!("600160020160005500").to_vec(), &WorkBudget::new(Some(5000), None));
    assert!(matches!(outcome, Outcome::Success { .. }), "{outcome:?}");
}

/// Check that the Blake2 function, moved to another address by a state override, still costs one gas a round.
#[test]
fn a_moved_precompiled_contract_has_its_price() {
    let moved = r#"{"0x0000000000000000000000000000000000000009":
        {"movePrecompileToAddress":"0x000000000000000000000000000000000000aaaa"}}"#;
    for (rounds, is_interrupted) in [("00000001", false), ("ffffffff", true)] {
        let input = hex::decode(rounds).unwrap().into_iter().chain([0; 209]).collect::<Vec<_>>();
        let to = TxKind::Call(address!("0x000000000000000000000000000000000000aaaa"));
        let message = Message { to, input: input.into(), ..Message::default() };
        let overrides = Overrides::parse(Some(moved.as_bytes()), None).unwrap();
        let work_budget = WorkBudget::new(Some(5000), None);
        let outcome = run_message(&message, overrides, &work_budget);
        assert_eq!(matches!(outcome, Outcome::Interrupted { .. }), is_interrupted, "{rounds}: {outcome:?}");
    }
}

#[test]
fn memory_is_bounded_where_gas_is_not() {
    // The code stores one word at an offset of 2 GB.
    let outcome = run(hex!("6001637fffffff52").to_vec(), &WorkBudget::new(None, None));
    assert!(matches!(outcome, Outcome::Halt { reason, .. } if reason == "out of gas"));
}

/// Installation of the cryptography before the first test. Without it, the first contract of any test would
/// install revm's own, which is not interruptible.
#[used]
#[cfg_attr(target_os = "linux", link_section = ".init_array")]
#[cfg_attr(target_os = "macos", link_section = "__DATA,__mod_init_func")]
static INSTALL_CRYPTO: extern "C" fn() = {
    extern "C" fn install() {
        crate::evm::call::install_crypto();
    }
    install
};

/// Check the cancellation of a precompiled contract with a minute of work, called by a message or by code.
#[test]
fn a_long_precompiled_contract_is_interrupted() {
    assert_eq!(format!("{:?}", revm::precompile::crypto()), "InterruptibleCrypto");
    let cancel = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let input: Vec<u8> = [0xff; 4].into_iter().chain([0; 209]).collect();
    let to = address!("0x0000000000000000000000000000000000000009");
    let direct = Message { to: TxKind::Call(to), input: input.clone().into(), ..Message::default() };
    // The code copies all call data to memory (CALLDATACOPY) and passes it to contract 9 (STATICCALL). It
    // uses PUSH1 because the chain begins without PUSH0.
    let code = r#"{"0x000000000000000000000000000000000000aaaa":{"code":"0x60d560006000376020600060d5600060095afa00"}}"#;
    let caller = address!("0x000000000000000000000000000000000000aaaa");
    let called = Message { to: TxKind::Call(caller), ..direct.clone() };
    for (message, overrides) in [(direct, "{}"), (called, code)] {
        cancel.store(false, std::sync::atomic::Ordering::Relaxed);
        let work_budget = WorkBudget::new(None, Some(cancel.clone()));
        let other = cancel.clone();
        // A cancellation before the first instruction has the same outcome. The pause makes it likely that
        // the contract is already running.
        let canceller = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            other.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        let overrides = Overrides::parse(Some(overrides.as_bytes()), None).unwrap();
        assert_eq!(run_message(&message, overrides, &work_budget), Outcome::Interrupted { cancelled: true });
        canceller.join().unwrap();
    }
}
