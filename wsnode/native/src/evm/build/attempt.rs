//! Verification and execution of another node's block on any known parent, without a commit.

use std::sync::Arc;

use alloy_eips::BlockNumHash;
use alloy_primitives::B256;
use revm::database::State;

use super::BuiltBlock;
use crate::error::{require_equal, Rule};
use crate::evm::block::UnverifiedBlock;
use crate::evm::chain_spec::ChainSpec;
use crate::evm::execute::{
    self, more_telling, set_root, verify_outcome, ChainHead, Executed, ExecutionError,
};
use crate::state::{Bounds, HistoryView, StateAfter, StateReader};

/// Parent of a block that is tried: committed, or built and held in memory.
#[derive(Debug, Clone)]
pub enum Parent {
    Committed(BlockNumHash),
    Built(Arc<BuiltBlock>),
}

impl Parent {
    pub fn state(&self) -> StateAfter<'_> {
        match self {
            Self::Committed(block) => (*block).into(),
            Self::Built(built) => built.state(),
        }
    }

    /// Return the parent if it is not committed.
    pub fn built(&self) -> Option<Arc<BuiltBlock>> {
        match self {
            Self::Committed(_) => None,
            Self::Built(built) => Some(built.clone()),
        }
    }
}

/// Verify and execute `block` after `parent`, and return it as a built block. `head` is the parent with its
/// ancestors.
///
/// The stored state does not change.
pub fn try_block(
    spec: &ChainSpec,
    reader: &StateReader,
    parent: Parent,
    block: &UnverifiedBlock,
    head: &ChainHead,
    bounds: Bounds<'_>,
) -> Result<BuiltBlock, ExecutionError> {
    let (executed, root) = execute(spec, reader, &parent, block, head, bounds)?;
    require_equal(Rule::StateRoot, root, block.header.state_root)?;
    Ok(BuiltBlock::new(block, executed, parent.built()))
}

/// Return the outcome of the block's execution, and the state root after it.
fn execute(
    spec: &ChainSpec,
    reader: &StateReader,
    parent: &Parent,
    block: &UnverifiedBlock,
    head: &ChainHead,
    bounds: Bounds<'_>,
) -> Result<(Executed, B256), ExecutionError> {
    let tries = reader.trial(parent.state(), bounds)?;
    let view = tries.view();
    if let Err(violation) = head.verify(spec, block) {
        return Err(more_telling(violation, || run(spec, &view, block)));
    }
    let mut executed = run(spec, &view, block)?;
    for (step, receipt) in std::mem::take(&mut executed.steps).iter().zip(&mut executed.receipts) {
        set_root(receipt, reader.trial(parent.state(), bounds)?.next_root(step)?);
    }
    verify_outcome(&block.header, &executed)?;
    let root = tries.next_root(&executed.changes)?;
    Ok((executed, root))
}

fn run(
    spec: &ChainSpec,
    view: &HistoryView<'_>,
    block: &UnverifiedBlock,
) -> Result<Executed, ExecutionError> {
    let mut state = State::builder().with_database_ref(view).with_bundle_update().build();
    execute::run(spec, block, &mut state)
}
