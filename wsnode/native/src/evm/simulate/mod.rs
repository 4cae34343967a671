//! Simulated blocks: calls run as transactions of new blocks on top of an existing one, by geth's rules for
//! `eth_simulateV1`.

mod block;
mod call;
mod env;
mod header;
mod overrides;
mod plan;
mod precompiles;
mod render;
mod request;
mod simulated_state;
mod system;
mod tracer;
mod transaction;

pub use request::{Block, Call, SimulationOptions, SimulationRequest};

use crate::error::Error;
use crate::evm::build::Base;
use crate::evm::call::refusal::refuse;
use crate::evm::call::WorkBudget;
use crate::evm::chain_spec::ChainSpec;
use crate::evm::environment::evm_environment;
use crate::json::Writer;
use crate::state::StateReader;
use header::SimulationParent;
use simulated_state::SimulatedState;

/// Run the blocks on top of `base`, and return them as a JSON array.
///
/// `changes` bounds the bytes of change lists that are read for a `base` below the head.
///
/// # Errors
/// `InvalidTransaction` with the reason as its kind; the kind `interrupted` means that the caller no longer
/// waits.
pub fn simulate(
    spec: &ChainSpec,
    reader: &StateReader,
    base: Base<'_>,
    request: SimulationRequest,
    work_budget: &WorkBudget,
    changes: usize,
) -> Result<Vec<u8>, Error> {
    let (header, hash, state) = base.read()?;
    let mut parent = SimulationParent { header, hash };
    let rules = evm_environment(spec, &parent.header).cfg_env.spec;
    let mut simulated_state = SimulatedState::open(reader, state, (spec, rules), work_budget, changes)?;
    let SimulationRequest { blocks, options } = request;
    let mut budget = options.gas_cap;
    let mut text = Writer::default();
    text.list(plan::plan(blocks, &parent.header)?.into_iter().map(Ok), |text, planned| {
        let block = block::run(spec, &mut simulated_state, &parent, planned, &options, &mut budget)?;
        render::write_block(text, spec, &block, options.full_transactions)?;
        parent = SimulationParent { hash: block.hash, header: block.header };
        Ok::<_, Error>(())
    })?;
    Ok(text.into_text())
}

/// Check that the run goes on; refuse with the kind `interrupted` if it was stopped or its caller no longer
/// waits.
fn check_interrupted(work_budget: &WorkBudget) -> Result<(), Error> {
    if work_budget.is_stopped() || work_budget.is_cancelled() {
        return Err(refuse("interrupted", "stopped"));
    }
    Ok(())
}
