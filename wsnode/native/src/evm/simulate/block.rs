//! One simulated block: its calls, what the protocol does around them, and its header.

use alloy_consensus::proofs::calculate_withdrawals_root;
use alloy_consensus::{Eip658Value, Header, Receipt, ReceiptEnvelope};
use alloy_evm::EvmEnv;
use alloy_primitives::B256;
use alloy_trie::root::ordered_trie_root_encoded;

use super::call::{self, CallResult, End};
use super::header::{self, Parent};
use super::ledger::Ledger;
use super::plan::Planned;
use super::precompiles::BlockPrecompiles;
use super::request::{Call, Options};
use super::tracer::Tracer;
use super::{overrides, system};
use crate::error::Error;
use crate::evm::call::refusal::refuse;
use crate::evm::call::scene::loosen;
use crate::evm::chain_spec::{ChainSpec, Fork};
use crate::evm::environment::evm_environment;
use crate::evm::execute::seal_receipts;

/// Where calls run.
#[derive(Debug)]
pub struct Site {
    pub environment: EvmEnv,
    pub precompiles: BlockPrecompiles,
    pub chain_id: u64,
    pub base_fee: Option<u64>,
    pub is_strict: bool,
    pub is_prague: bool,
    /// Before Byzantium receipts hold state roots.
    has_status: bool,
    pub clears_empty: bool,
}

/// A block and what its calls came to.
#[derive(Debug)]
pub struct Simulated {
    pub header: Header,
    pub hash: B256,
    pub results: Vec<CallResult>,
    /// Nothing before blocks had them.
    pub withdrawals: Option<Vec<alloy_eips::eip4895::Withdrawal>>,
}

/// Run the block that is planned after `parent`, with `budget` gas at most, which is counted down.
pub fn run(
    spec: &ChainSpec,
    ledger: &mut Ledger<'_>,
    parent: &Parent,
    mut planned: Planned,
    options: &Options,
    budget: &mut u64,
) -> Result<Simulated, Error> {
    super::check_watch(ledger.state.watch)?;
    let mut header = header::begin(spec, parent, &planned, options.is_strict)?;
    let mut site = Site::new(spec, &header, &planned, options)?;
    let contracts = &mut site.precompiles.contracts.precompiles;
    overrides::apply(&planned.block.state, ledger, contracts, site.is_prague)?;
    let mut tracer = Tracer::new(options.traces_transfers);
    system::before_calls(&mut site, ledger, &header, &mut tracer)?;
    let calls = std::mem::take(&mut planned.block.calls);
    let (results, receipts) = run_calls(calls, &mut site, ledger, &header, &mut tracer, budget)?;
    header.gas_used = results.iter().map(|result| result.gas_used).sum();
    let blob_gas = results.iter().map(|result| result.transaction.blob_gas).sum();
    header.blob_gas_used = header.excess_blob_gas.map(|_| blob_gas);
    let has_withdrawals = spec.is_active_at(Fork::Shanghai, header.number, header.timestamp);
    let withdrawals = has_withdrawals.then_some(planned.block.overrides.withdrawals);
    let paid = withdrawals.as_deref().unwrap_or_default();
    let requests = system::after_calls(spec, &mut site, ledger, &header, paid, &receipts)?;
    header.requests_hash = requests.map(|requests| requests.requests_hash());
    header.withdrawals_root = withdrawals.as_deref().map(calculate_withdrawals_root);
    header.state_root = ledger.root()?;
    ledger.seal();
    close(&mut header, &results, &receipts);
    let hash = header.hash_slow();
    ledger.name_block(header.number, hash)?;
    Ok(Simulated { header, hash, results, withdrawals })
}

impl Site {
    fn new(spec: &ChainSpec, header: &Header, planned: &Planned, options: &Options) -> Result<Self, Error> {
        let mut environment = evm_environment(spec, header);
        loosen(&mut environment);
        environment.cfg_env.disable_base_fee = true;
        environment.cfg_env.chain_id = spec.chain_id();
        if let (Some(wanted), Some(blobs)) =
            (planned.block.overrides.blob_base_fee, &mut environment.block_env.blob_excess_gas_and_price)
        {
            let too_large = |_| refuse("unsupported", format!("blob base fee {wanted} exceeds 128 bits"));
            blobs.blob_gasprice = wanted.try_into().map_err(too_large)?;
        }
        Ok(Self {
            precompiles: BlockPrecompiles::of(environment.cfg_env.spec),
            environment,
            chain_id: spec.chain_id(),
            base_fee: header.base_fee_per_gas,
            is_strict: options.is_strict,
            is_prague: system::has_requests(spec, header),
            has_status: spec.is_active(Fork::Byzantium, header.number),
            clears_empty: spec.is_active(Fork::SpuriousDragon, header.number),
        })
    }
}

type Run = (Vec<CallResult>, Vec<ReceiptEnvelope>);

fn run_calls(
    calls: Vec<Call>,
    site: &mut Site,
    ledger: &mut Ledger<'_>,
    header: &Header,
    tracer: &mut Tracer,
    budget: &mut u64,
) -> Result<Run, Error> {
    let (mut results, mut receipts) = (Vec::with_capacity(calls.len()), Vec::with_capacity(calls.len()));
    let mut used = 0;
    for call in calls {
        super::check_watch(ledger.state.watch)?;
        let message = match call {
            Call::Message(message) => message,
            Call::Refused(words) => return Err(refuse("arguments", words)),
        };
        let remaining = header.gas_limit - used;
        let result = call::run(message, site, ledger, tracer, remaining, *budget)?;
        used += result.gas_used;
        *budget -= result.gas_used;
        receipts.push(receipt(&result, used, site, ledger)?);
        results.push(result);
    }
    Ok((results, receipts))
}

fn receipt(
    result: &CallResult,
    cumulative_gas_used: u64,
    site: &Site,
    ledger: &mut Ledger<'_>,
) -> Result<ReceiptEnvelope, Error> {
    let status = match site.has_status {
        true => Eip658Value::Eip658(matches!(result.end, End::Success(_))),
        false => Eip658Value::PostState(ledger.root()?),
    };
    let receipt = Receipt { status, cumulative_gas_used, logs: result.receipt_logs.clone() };
    Ok(ReceiptEnvelope::from_typed(result.transaction.kind, receipt))
}

/// What the header says of transactions and receipts.
fn close(header: &mut Header, results: &[CallResult], receipts: &[ReceiptEnvelope]) {
    let envelopes: Vec<&[u8]> = results.iter().map(|result| result.transaction.envelope.as_slice()).collect();
    let sealed = seal_receipts(receipts);
    header.transactions_root = ordered_trie_root_encoded(&envelopes);
    header.receipts_root = sealed.root;
    header.logs_bloom = sealed.bloom;
}
