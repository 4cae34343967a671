//! Blocks that might be: calls run one after another as transactions, in blocks on top of an existing one, by
//! geth's rules for eth_simulateV1.

mod block;
mod call;
mod header;
mod ledger;
mod overrides;
mod plan;
mod precompiles;
mod render;
mod request;
mod system;
mod tracer;
mod transaction;

use std::time::{SystemTime, UNIX_EPOCH};

use alloy_eips::BlockNumHash;

pub use request::{Block, BlockOverrides, Call, Options, Request};

use crate::call::refusal::refuse;
use crate::call::Watch;
use crate::chain_spec::ChainSpec;
use crate::error::Error;
use crate::json::Writer;
use crate::rows::HeaderRow;
use crate::state::StateReader;
use header::Parent;
use ledger::Ledger;
use plan::Planned;

/// Run the blocks on top of the one whose header row is given, and return them as a JSON array.
///
/// A refusal's kind is what is wrong; `interrupted` means that nobody waits any more.
pub fn simulate(
    spec: &ChainSpec,
    reader: &StateReader,
    header_row: &[u8],
    request: Request,
    watch: &Watch,
) -> Result<Vec<u8>, Error> {
    let row = HeaderRow::new(header_row)?;
    let mut parent = Parent { header: row.header()?, hash: *row.hash() };
    let mut ledger = Ledger::open(reader, BlockNumHash::new(parent.header.number, parent.hash), watch)?;
    let Request { blocks, options } = request;
    if options.is_pending {
        parent = pending(spec, &mut ledger, &parent, &options)?;
    }
    let mut budget = options.gas_cap;
    let mut text = Writer::default();
    text.list(plan::plan(blocks, &parent.header)?.into_iter().map(Ok), |text, planned| {
        let block = block::run(spec, &mut ledger, &parent, planned, &options, &mut budget)?;
        render::write_block(text, spec, &block, options.full_transactions)?;
        parent = Parent { hash: block.hash, header: block.header };
        Ok::<_, Error>(())
    })?;
    Ok(text.into_text())
}

/// The block to come, which is empty; the simulated ones follow on it.
fn pending(
    spec: &ChainSpec,
    ledger: &mut Ledger<'_>,
    head: &Parent,
    options: &Options,
) -> Result<Parent, Error> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_secs());
    let mut block = Block::default();
    block.overrides.fee_recipient = Some(<_>::default());
    let number = head.header.number + 1;
    let timestamp = now.max(head.header.timestamp + 1);
    let options = Options { is_strict: true, ..*options };
    let block = block::run(spec, ledger, head, Planned { number, timestamp, block }, &options, &mut 0)?;
    Ok(Parent { hash: block.hash, header: block.header })
}

/// Stop if the run was stopped, or nobody waits for it.
fn check_watch(watch: &Watch) -> Result<(), Error> {
    if watch.is_stopped() || watch.is_cancelled() {
        return Err(refuse("interrupted", "stopped"));
    }
    Ok(())
}
