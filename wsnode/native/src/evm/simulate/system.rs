//! Protocol's own changes in a simulated block.

use alloy_consensus::{Header, ReceiptEnvelope};
use alloy_eips::eip2935::HISTORY_STORAGE_ADDRESS;
use alloy_eips::eip4788::BEACON_ROOTS_ADDRESS;
use alloy_eips::eip4895::Withdrawal;
use alloy_eips::eip6110::DEPOSIT_REQUEST_TYPE;
use alloy_eips::eip7002::{WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, WITHDRAWAL_REQUEST_TYPE};
use alloy_eips::eip7251::{CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS, CONSOLIDATION_REQUEST_TYPE};
use alloy_eips::eip7685::Requests;
use alloy_eips::eip8282::{
    BUILDER_DEPOSIT_CONTRACT_ADDRESS, BUILDER_DEPOSIT_REQUEST_TYPE, BUILDER_EXIT_CONTRACT_ADDRESS,
    BUILDER_EXIT_REQUEST_TYPE,
};
use alloy_evm::block::calc::base_block_reward_pre_merge;
use alloy_evm::eth::eip6110::accumulate_deposits_from_receipts;
use alloy_evm::eth::spec::EthExecutorSpec;
use alloy_primitives::{Address, Bytes, U256};
use revm::context::result::ExecutionResult;
use revm::inspector::InspectSystemCallEvm;

use super::env::SimulationEnv;
use super::precompiles::Borrowed;
use super::simulated_state::SimulatedState;
use super::tracer::SimulationTracer;
use crate::error::Error;
use crate::evm::call::evm::build_with;
use crate::evm::call::refusal::refuse;
use crate::evm::chain_spec::{ChainSpec, Fork};
use crate::evm::environment::rules_of;

/// Contracts that queue requests: type, address and name, in the order of the types. The last two begin with
/// Amsterdam.
const QUEUES: [(u8, Address, &str); 4] = [
    (WITHDRAWAL_REQUEST_TYPE, WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, "withdrawal"),
    (CONSOLIDATION_REQUEST_TYPE, CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS, "consolidation"),
    (BUILDER_DEPOSIT_REQUEST_TYPE, BUILDER_DEPOSIT_CONTRACT_ADDRESS, "builder deposit"),
    (BUILDER_EXIT_REQUEST_TYPE, BUILDER_EXIT_CONTRACT_ADDRESS, "builder exit"),
];

/// Call the contracts that keep the parent's beacon block root (EIP-4788) and block hash (EIP-2935).
pub fn before_calls(
    env: &mut SimulationEnv,
    simulated_state: &mut SimulatedState<'_>,
    header: &Header,
    tracer: &mut SimulationTracer,
) -> Result<(), Error> {
    if let Some(root) = header.parent_beacon_block_root {
        system_call(env, simulated_state, BEACON_ROOTS_ADDRESS, root.into(), tracer)?;
    }
    if env.is_prague {
        system_call(env, simulated_state, HISTORY_STORAGE_ADDRESS, header.parent_hash.into(), tracer)?;
    }
    Ok(())
}

/// Pay withdrawals and the reward of a mined block, and return the requests from Prague on, else None.
pub fn after_calls(
    spec: &ChainSpec,
    env: &mut SimulationEnv,
    simulated_state: &mut SimulatedState<'_>,
    header: &Header,
    withdrawals: &[Withdrawal],
    receipts: &[ReceiptEnvelope],
) -> Result<Option<Requests>, Error> {
    for withdrawal in withdrawals {
        simulated_state.credit(withdrawal.address, withdrawal.amount_wei(), env.clears_empty)?;
    }
    let requests =
        if env.is_prague { Some(requests(spec, env, simulated_state, header, receipts)?) } else { None };
    if !header.difficulty.is_zero() {
        let reward = base_block_reward_pre_merge(rules_of(spec, header), header.number);
        simulated_state.credit(header.beneficiary, U256::from(reward), env.clears_empty)?;
    }
    Ok(requests)
}

fn requests(
    spec: &ChainSpec,
    env: &mut SimulationEnv,
    simulated_state: &mut SimulatedState<'_>,
    header: &Header,
    receipts: &[ReceiptEnvelope],
) -> Result<Requests, Error> {
    let mut deposits = Vec::new();
    let contract = rules_of(spec, header).deposit_contract_address().unwrap_or_default();
    accumulate_deposits_from_receipts(contract, receipts, &mut deposits)
        .map_err(|reason| refuse("system_call", format!("failed to parse deposit logs: {reason}")))?;
    let mut requests = Requests::default();
    requests.push_request_with_type(DEPOSIT_REQUEST_TYPE, deposits);
    let is_amsterdam = spec.is_active_at(Fork::Amsterdam, header.number, header.timestamp);
    for (kind, contract, name) in QUEUES.iter().take(if is_amsterdam { 4 } else { 2 }).copied() {
        let output = drain(env, simulated_state, contract)
            .map_err(|reason| refuse("system_call", format!("failed to process {name} queue: {reason}")))?;
        requests.push_request_with_type(kind, output);
    }
    Ok(requests)
}

/// Return the requests that a contract has queued, and empty its queue.
fn drain(
    env: &mut SimulationEnv,
    simulated_state: &mut SimulatedState<'_>,
    contract: Address,
) -> Result<Bytes, Error> {
    if simulated_state.account(contract)?.is_empty_code_hash() {
        return Err(refuse("system_call", format!("empty system contract: no code at {contract}")));
    }
    match system_call(env, simulated_state, contract, Bytes::new(), &mut SimulationTracer::default())? {
        ExecutionResult::Success { output, .. } => Ok(output.into_data()),
        ExecutionResult::Revert { .. } => {
            Err(refuse("system_call", "system call failed to execute: execution reverted"))
        }
        ExecutionResult::Halt { reason, .. } => {
            let words = crate::evm::call::halt::words(&reason, <_>::default());
            Err(refuse("system_call", format!("system call failed to execute: {words}")))
        }
    }
}

/// Run a system call and commit its changes. Its logs belong to no transaction, but take log numbers.
fn system_call(
    env: &mut SimulationEnv,
    simulated_state: &mut SimulatedState<'_>,
    contract: Address,
    input: Bytes,
    tracer: &mut SimulationTracer,
) -> Result<ExecutionResult, Error> {
    let environment = env.environment.clone();
    let precompiles = Borrowed(&mut env.precompiles);
    let mut evm = build_with(&mut simulated_state.state, environment, precompiles, std::mem::take(tracer));
    let result = evm.inspect_system_call(contract, input);
    *tracer = evm.inspector;
    tracer.take_logs();
    super::check_interrupted(simulated_state.state.work_budget)?;
    let mut result = result.map_err(Error::internal)?;
    // Unlike other calls, system calls do not touch an account without code.
    result.state.retain(|address, account| *address != contract || !account.info.is_empty());
    simulated_state.commit(result.state, env.clears_empty)?;
    Ok(result.result)
}
