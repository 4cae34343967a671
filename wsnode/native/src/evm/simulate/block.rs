//! One simulated block: its calls, the protocol's changes around them, and its header.

use alloy_consensus::proofs::calculate_withdrawals_root;
use alloy_consensus::{Eip658Value, Header, Receipt, ReceiptEnvelope};
use alloy_primitives::B256;
use alloy_trie::root::ordered_trie_root_encoded;

use super::call::{self, CallResult, End};
use super::env::SimulationEnv;
use super::header::{self, SimulationParent};
use super::plan::Planned;
use super::request::{Call, SimulationOptions};
use super::simulated_state::SimulatedState;
use super::tracer::SimulationTracer;
use super::{overrides, system};
use crate::error::Error;
use crate::evm::call::refusal::refuse;
use crate::evm::chain_spec::{ChainSpec, Fork};
use crate::evm::execute::seal_receipts;

#[derive(Debug)]
pub struct Simulated {
    pub header: Header,
    pub hash: B256,
    pub results: Vec<CallResult>,
    /// Withdrawals, or None before Shanghai.
    pub withdrawals: Option<Vec<alloy_eips::eip4895::Withdrawal>>,
}

/// Run the planned block after `parent` with at most `budget` gas, from which the used gas is subtracted.
pub fn run(
    spec: &ChainSpec,
    simulated_state: &mut SimulatedState<'_>,
    parent: &SimulationParent,
    mut planned: Planned,
    options: &SimulationOptions,
    budget: &mut u64,
) -> Result<Simulated, Error> {
    super::check_interrupted(simulated_state.state.work_budget)?;
    let mut header = header::begin(spec, parent, &planned, options.is_strict)?;
    let mut env = SimulationEnv::new(spec, &header, &planned, options)?;
    let contracts = &mut env.precompiles.contracts.precompiles;
    overrides::apply(&planned.block.state, simulated_state, contracts, env.is_prague)?;
    let has_list = spec.is_active_at(Fork::Amsterdam, header.number, header.timestamp);
    simulated_state.begin_access_list(has_list);
    // From Amsterdam on, the protocol itself logs transfers (EIP-7708), so the tracer must not add them.
    let mut tracer = SimulationTracer::new(options.traces_transfers && !has_list);
    system::before_calls(&mut env, simulated_state, &header, &mut tracer)?;
    let calls = std::mem::take(&mut planned.block.calls);
    let ExecutedCalls { results, receipts, gas } =
        run_calls(calls, &mut env, simulated_state, &header, &mut tracer, budget)?;
    header.gas_used = gas.taken();
    simulated_state.enter(results.len() + 1);
    let blob_gas = results.iter().map(|result| result.transaction.blob_gas).sum();
    header.blob_gas_used = header.excess_blob_gas.map(|_| blob_gas);
    let has_withdrawals = spec.is_active_at(Fork::Shanghai, header.number, header.timestamp);
    let withdrawals = has_withdrawals.then_some(planned.block.overrides.withdrawals);
    let paid = withdrawals.as_deref().unwrap_or_default();
    let requests = system::after_calls(spec, &mut env, simulated_state, &header, paid, &receipts)?;
    header.requests_hash = requests.map(|requests| requests.requests_hash());
    header.withdrawals_root = withdrawals.as_deref().map(calculate_withdrawals_root);
    header.block_access_list_hash = simulated_state.take_access_list();
    header.state_root = simulated_state.root()?;
    simulated_state.seal();
    close(&mut header, &results, &receipts);
    let hash = header.hash_slow();
    simulated_state.name_block(header.number, hash)?;
    Ok(Simulated { header, hash, results, withdrawals })
}

struct ExecutedCalls {
    results: Vec<CallResult>,
    receipts: Vec<ReceiptEnvelope>,
    gas: BlockGas,
}

/// Gas of calls, for execution and, from Amsterdam on, for state.
#[derive(Default)]
struct BlockGas {
    execution: u64,
    state: u64,
}

impl BlockGas {
    fn add(&mut self, result: &CallResult) {
        self.execution += result.block_gas;
        self.state += result.block_state_gas;
    }

    /// Return the gas that the calls take of their block: the larger of the two sums (EIP-7778, EIP-8037).
    fn taken(&self) -> u64 {
        self.execution.max(self.state)
    }
}

fn run_calls(
    calls: Vec<Call>,
    env: &mut SimulationEnv,
    simulated_state: &mut SimulatedState<'_>,
    header: &Header,
    tracer: &mut SimulationTracer,
    budget: &mut u64,
) -> Result<ExecutedCalls, Error> {
    let (mut results, mut receipts) = (Vec::with_capacity(calls.len()), Vec::with_capacity(calls.len()));
    let (mut used, mut gas) = (0, BlockGas::default());
    for (index, call) in calls.into_iter().enumerate() {
        simulated_state.enter(index + 1);
        super::check_interrupted(simulated_state.state.work_budget)?;
        let message = match call {
            Call::Message(message) => message,
            Call::Refused(words) => return Err(refuse("arguments", words)),
        };
        let remaining = header.gas_limit.saturating_sub(gas.taken());
        let result = call::run(message, env, simulated_state, tracer, remaining, *budget)?;
        gas.add(&result);
        used += result.gas_used;
        *budget -= result.gas_used;
        receipts.push(receipt(&result, used, env, simulated_state)?);
        results.push(result);
    }
    Ok(ExecutedCalls { results, receipts, gas })
}

fn receipt(
    result: &CallResult,
    cumulative_gas_used: u64,
    env: &SimulationEnv,
    simulated_state: &mut SimulatedState<'_>,
) -> Result<ReceiptEnvelope, Error> {
    let status = match env.has_status {
        true => Eip658Value::Eip658(matches!(result.end, End::Success(_))),
        false => Eip658Value::PostState(simulated_state.root()?),
    };
    let receipt = Receipt { status, cumulative_gas_used, logs: result.receipt_logs.clone() };
    Ok(ReceiptEnvelope::from_typed(result.transaction.kind, receipt))
}

/// Set the header members that depend on transactions and receipts.
fn close(header: &mut Header, results: &[CallResult], receipts: &[ReceiptEnvelope]) {
    let envelopes: Vec<&[u8]> = results.iter().map(|result| result.transaction.envelope.as_slice()).collect();
    let sealed = seal_receipts(receipts);
    header.transactions_root = ordered_trie_root_encoded(&envelopes);
    header.receipts_root = sealed.root;
    header.logs_bloom = sealed.bloom;
}
