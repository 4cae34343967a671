//! Execution witnesses: data with which a stateless client executes a block.

mod recorder;

use alloy_eips::BlockNumHash;
use alloy_primitives::{Bytes, B256};
use revm::database::State;

use crate::engine::{Engine, Rows};
use crate::error::{require_equal, Error, Rule};
use crate::evm::block::from_rows;
use crate::evm::call::refusal::refuse;
use crate::evm::chain_spec::Fork;
use crate::evm::execute::{run, ExecutionError};
use crate::state::Bounds;
use recorder::WitnessRecorder;

/// Parts of its parent's state that a block needs.
#[derive(Debug)]
pub struct Witness {
    /// State root of the parent.
    pub state_root: B256,
    /// RLP of the trie nodes for the proof of the block's reads and for its changes, in the order of their
    /// bytes.
    pub nodes: Vec<Bytes>,
    /// Code that the block runs or reads, in the order of its bytes.
    pub codes: Vec<Bytes>,
    /// Number of the oldest block whose hash the block reads, or of its parent.
    pub oldest: u64,
}

/// Return the witness of a block on top of a committed one. `rows` are the block's rows.
pub fn execution_witness(engine: &Engine, rows: Rows<'_>, bounds: Bounds<'_>) -> Result<Witness, Error> {
    let block = from_rows(&engine.spec, rows.0, rows.1)?;
    let (number, parent_hash) = (block.header.number, block.header.parent_hash);
    if !engine.spec.is_active(Fork::Byzantium, number) {
        // The receipts of such a block hold the state roots between transactions, which need trie nodes of
        // their own.
        return Err(refuse(
            "unsupported",
            format!("block {number} is older than Byzantium: it has no witness"),
        ));
    }
    let parent = BlockNumHash::new(number - 1, parent_hash);
    let recorder = WitnessRecorder::new(engine.reader.at(parent)?, parent.number, bounds);
    let mut state = State::builder().with_database_ref(&recorder).with_bundle_update().build();
    let executed = run(&engine.spec, &block, &mut state);
    drop(state);
    let mut recorded = recorder.finish()?;
    let executed = executed.map_err(|fault| match fault {
        ExecutionError::RuleViolation(violation) => violation.in_block(Some(number), Some(block.hash)).into(),
        ExecutionError::Engine(error) => error,
    })?;
    recorded.add_made_again(&executed.changes);
    let proved = engine.reader.proving_nodes(parent, &recorded.state, &executed.changes, bounds)?;
    require_equal(Rule::StateRoot, proved.root, block.header.state_root)
        .map_err(|violation| violation.in_block(Some(number), Some(block.hash)))?;
    let (state_root, nodes) = (proved.before, proved.nodes);
    Ok(Witness { state_root, nodes, codes: recorded.sorted_codes(), oldest: recorded.oldest })
}
