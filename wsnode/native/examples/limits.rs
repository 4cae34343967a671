//! What no import and no call can take less than: secp256k1 recovery and revm alone, on tables in memory.
//!
//!     cargo run --release --example limits -- GENESIS.json CHAIN.rlp TOKEN
//!
//! Prints one line of JSON: CPU seconds of one thread for the senders and for the transactions of all blocks,
//! and CPU microseconds of a call of `balanceOf` and of a transfer, by turns for all accounts of the genesis
//! that are no contracts.

use std::env::args;
use std::error::Error;
use std::fs::{read, read_to_string};
use std::hint::black_box;

use _native::{evm_environment, ChainSpec};
use alloy_consensus::transaction::SignerRecoverable;
use alloy_consensus::{Block, TxEnvelope};
use alloy_evm::{EvmEnv, FromRecoveredTx};
use alloy_genesis::Genesis;
use alloy_primitives::{hex, Address, TxKind, U256};
use alloy_rlp::Decodable;
use revm::context::{BlockEnv, TxEnv};
use revm::database::{CacheDB, EmptyDB};
use revm::state::{AccountInfo, Bytecode};
use revm::{Context, ExecuteCommitEvm, ExecuteEvm, MainBuilder, MainContext};

type Failure = Box<dyn Error>;
type State = CacheDB<EmptyDB>;

/// A block for the EVM.
struct Prepared {
    block: BlockEnv,
    transactions: Vec<TxEnv>,
}

const CALLS: usize = 100_000;
const CALL_GAS: u64 = 1_000_000;
const TRANSFER_GAS: u64 = 21_000;
const BALANCE_OF: [u8; 4] = hex!("70a08231");

fn main() -> Result<(), Failure> {
    let given: Vec<String> = args().skip(1).collect();
    let [genesis_file, chain_file, token] = given.as_slice() else {
        return Err("give GENESIS.json, CHAIN.rlp and the address of a token".into());
    };
    let text = read_to_string(genesis_file)?;
    let spec = ChainSpec::from_json(text.as_bytes())?;
    let genesis: Genesis = serde_json::from_str(&text)?;
    let accounts = without_code(&genesis);
    let blocks = decoded(&read(chain_file)?)?;
    let environment = evm_environment(&spec, &blocks.last().ok_or("the chain is empty")?.header);

    let (senders, recovery) = measured(|| recovered(&blocks))?;
    let prepared = prepared(&spec, &blocks, &senders);
    let mut state = state_of(genesis);
    let (gas, execution) = measured(|| executed(&mut state, &environment, prepared))?;
    let wanted: u64 = blocks.iter().map(|block| block.header.gas_used).sum();
    if gas != wanted {
        return Err(format!("the blocks used {wanted} gas, but here they used {gas}").into());
    }
    let token = token.parse()?;
    let (_, call) = measured(|| called(&mut state, &environment, &accounts, |of| balance_of(token, of)))?;
    let (_, transfer) = measured(|| called(&mut state, &environment, &accounts, transfer))?;
    let micros = 1e6 / CALLS as f64;
    println!(
        r#"{{"recovery":{recovery:.3},"execution":{execution:.3},"call":{:.3},"transfer":{:.3}}}"#,
        call * micros,
        transfer * micros
    );
    Ok(())
}

/// What a function returns, and the CPU seconds of this thread that it took.
fn measured<T>(function: impl FnOnce() -> Result<T, Failure>) -> Result<(T, f64), Failure> {
    let began = cpu_seconds()?;
    let made = function()?;
    Ok((made, cpu_seconds()? - began))
}

fn cpu_seconds() -> Result<f64, Failure> {
    let figures = read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = figures.split(' ').next().ok_or("the kernel says nothing of CPU time")?;
    Ok(nanoseconds.parse::<u64>()? as f64 / 1e9)
}

fn decoded(mut rlp: &[u8]) -> Result<Vec<Block<TxEnvelope>>, Failure> {
    let mut blocks = Vec::new();
    while !rlp.is_empty() {
        blocks.push(Block::decode(&mut rlp)?);
    }
    Ok(blocks)
}

fn recovered(blocks: &[Block<TxEnvelope>]) -> Result<Vec<Address>, Failure> {
    let transactions = blocks.iter().flat_map(|block| &block.body.transactions);
    transactions.map(|transaction| Ok(transaction.recover_signer()?)).collect()
}

fn prepared(spec: &ChainSpec, blocks: &[Block<TxEnvelope>], senders: &[Address]) -> Vec<Prepared> {
    let mut senders = senders.iter();
    let mut prepare = |block: &Block<TxEnvelope>| Prepared {
        block: evm_environment(spec, &block.header).block_env,
        transactions: (block.body.transactions.iter().zip(&mut senders))
            .map(|(transaction, sender)| TxEnv::from_recovered_tx(transaction, *sender))
            .collect(),
    };
    blocks.iter().map(&mut prepare).collect()
}

fn without_code(genesis: &Genesis) -> Vec<Address> {
    let accounts = genesis.alloc.iter().filter(|(_, account)| account.code.is_none());
    accounts.map(|(address, _)| *address).collect()
}

fn state_of(genesis: Genesis) -> State {
    let mut state = State::default();
    for (address, account) in genesis.alloc {
        let code = account.code.map(Bytecode::new_raw).unwrap_or_default();
        let nonce = account.nonce.unwrap_or_default();
        let known = AccountInfo::new(account.balance, nonce, code.hash_slow(), code);
        state.insert_account_info(address, known);
        for (slot, value) in account.storage.unwrap_or_default() {
            // A table in memory accepts every value, so its error type has no values.
            let Ok(()) = state.insert_account_storage(address, slot.into(), value.into());
        }
    }
    state
}

/// The gas that all transactions use.
fn executed(state: &mut State, environment: &EvmEnv, blocks: Vec<Prepared>) -> Result<u64, Failure> {
    let mut evm = Context::mainnet().with_db(state).with_cfg(environment.cfg_env.clone()).build_mainnet();
    let mut gas = 0;
    for Prepared { block, transactions } in blocks {
        evm.set_block(block);
        for transaction in transactions {
            gas += evm.transact_commit(transaction)?.tx_gas_used();
        }
    }
    Ok(gas)
}

fn called(
    state: &mut State,
    environment: &EvmEnv,
    accounts: &[Address],
    message: impl Fn(Address) -> TxEnv,
) -> Result<(), Failure> {
    let mut settings = environment.cfg_env.clone();
    settings.disable_base_fee = true;
    settings.disable_nonce_check = true;
    let mut evm = Context::mainnet().with_db(state).with_cfg(settings).build_mainnet();
    evm.set_block(environment.block_env.clone());
    for account in accounts.iter().cycle().take(CALLS) {
        let outcome = evm.transact(message(*account))?;
        if !outcome.result.is_success() {
            return Err(format!("a call for {account} fails: {:?}", outcome.result).into());
        }
        black_box(outcome);
    }
    Ok(())
}

fn balance_of(token: Address, account: Address) -> TxEnv {
    let data = [BALANCE_OF.as_slice(), account.into_word().as_slice()].concat();
    TxEnv {
        kind: TxKind::Call(token),
        data: data.into(),
        gas_limit: CALL_GAS,
        chain_id: None,
        ..TxEnv::default()
    }
}

fn transfer(account: Address) -> TxEnv {
    TxEnv {
        kind: TxKind::Call(account),
        value: U256::ZERO,
        gas_limit: TRANSFER_GAS,
        chain_id: None,
        ..TxEnv::default()
    }
}
