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
mod site;
mod system;
mod tracer;
mod transaction;

pub use request::{Block, BlockOverrides, Call, Options, Request};

use crate::error::Error;
use crate::evm::build::Base;
use crate::evm::call::refusal::refuse;
use crate::evm::call::Watch;
use crate::evm::chain_spec::ChainSpec;
use crate::json::Writer;
use crate::state::StateReader;
use header::Parent;
use ledger::Ledger;

/// Run the blocks on top of `base`, and return them as a JSON array.
///
/// `changes` bounds how far back `base` may lie, in bytes of the lists of what changed since.
///
/// A refusal's kind names the reason; `interrupted` means that the caller no longer waits.
pub fn simulate(
    spec: &ChainSpec,
    reader: &StateReader,
    base: Base<'_>,
    request: Request,
    watch: &Watch,
    changes: usize,
) -> Result<Vec<u8>, Error> {
    let (header, hash, state) = base.read()?;
    let mut parent = Parent { header, hash };
    let mut ledger = Ledger::open(reader, state, watch, changes)?;
    let Request { blocks, options } = request;
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

/// Stop if the run was stopped or its caller no longer waits.
fn check_watch(watch: &Watch) -> Result<(), Error> {
    if watch.is_stopped() || watch.is_cancelled() {
        return Err(refuse("interrupted", "stopped"));
    }
    Ok(())
}
