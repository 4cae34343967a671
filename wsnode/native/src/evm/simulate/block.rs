//! One simulated block: its calls, what the protocol does around them, and its header.

use alloy_consensus::proofs::calculate_withdrawals_root;
use alloy_consensus::{Eip658Value, Header, Receipt, ReceiptEnvelope};
use alloy_primitives::B256;
use alloy_trie::root::ordered_trie_root_encoded;

use super::call::{self, CallResult, End};
use super::header::{self, Parent};
use super::ledger::Ledger;
use super::plan::Planned;
use super::request::{Call, Options};
use super::site::Site;
use super::tracer::Tracer;
use super::{overrides, system};
use crate::error::Error;
use crate::evm::call::refusal::refuse;
use crate::evm::chain_spec::{ChainSpec, Fork};
use crate::evm::execute::seal_receipts;

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
