//! Execution of consecutive blocks on top of the head.

use std::collections::VecDeque;
use std::sync::Arc;

use alloy_consensus::Header;
use alloy_primitives::U256;
use revm::database::{CacheState, State};

use super::{outcome, transactions, Executed, ExecutionError, ReadCache};
use crate::error::{require_equal, Error, InvalidBlock, Rule, RuleViolation};
use crate::evm::block::{UnverifiedBlock, VerifiedBlock};
use crate::evm::chain_spec::ChainSpec;
use crate::evm::rules::{self, Ancestor, Chosen, GENERATIONS};
use crate::state::{Head, LatestView, StateStore};

/// Executed blocks, and the violation of the first invalid block, if any.
#[derive(Debug, Default)]
pub struct Execution {
    pub verified: Vec<VerifiedBlock>,
    pub error: Option<InvalidBlock>,
}

/// Last block of a chain, as the next one sees it.
#[derive(Debug)]
pub struct ChainHead {
    /// Last block and the blocks before it, the nearest first.
    pub ancestors: VecDeque<Ancestor>,
    pub total_difficulty: U256,
    /// Members of the next block's header that its maker has chosen.
    pub chosen: Chosen,
}

impl ChainHead {
    /// Check all rules of `block` that need no execution.
    pub fn verify(&self, spec: &ChainSpec, block: &UnverifiedBlock) -> Result<(), RuleViolation> {
        let ancestors: Vec<&Ancestor> = self.ancestors.iter().collect();
        rules::verify(spec, block, &ancestors, self.total_difficulty, self.chosen)
    }

    fn advance(&mut self, block: &UnverifiedBlock) {
        self.chosen = Chosen::default();
        self.total_difficulty = self.total_difficulty.saturating_add(block.header.difficulty);
        self.ancestors.truncate(GENERATIONS - 1);
        let (header, ommers) = (block.header.clone(), block.ommers.clone());
        self.ancestors.push_front(Ancestor { header, hash: block.hash, ommers });
    }
}

/// Verify and execute `blocks` on top of the state's head, up to the first invalid one.
pub fn execute(
    spec: &ChainSpec,
    store: &mut StateStore,
    cache: &mut ReadCache,
    blocks: &[Arc<UnverifiedBlock>],
    mut head: ChainHead,
) -> Result<Execution, Error> {
    let mut execution = Execution::default();
    for block in blocks {
        match advance(spec, store, cache, block, &head) {
            Ok(verified) => execution.verified.push(verified),
            Err(fault) => {
                cache.clear();
                store.rollback()?;
                execution.error = Some(invalid(block, fault)?);
                break;
            }
        }
        head.advance(block);
    }
    cache.trim();
    Ok(execution)
}

/// Return the invalid block for a violation of a rule; return the engine's error as an error.
pub fn invalid(block: &UnverifiedBlock, fault: ExecutionError) -> Result<InvalidBlock, Error> {
    match fault {
        ExecutionError::RuleViolation(violation) => {
            Ok(violation.in_block(Some(block.header.number), Some(block.hash)))
        }
        ExecutionError::Engine(error) => Err(error),
    }
}

/// Block that is applied to the head, and neither sealed nor rolled back.
#[derive(Debug)]
pub struct Applied {
    pub executed: Executed,
    /// Values that the block read and wrote, for the next block's cache.
    pub entries: CacheState,
}

fn advance(
    spec: &ChainSpec,
    store: &mut StateStore,
    cache: &mut ReadCache,
    block: &UnverifiedBlock,
    head: &ChainHead,
) -> Result<VerifiedBlock, ExecutionError> {
    let Applied { executed, entries } = apply(spec, store, cache, block, head)?;
    let Header { number, state_root, .. } = block.header;
    store.seal(Head { number, hash: block.hash, state_root });
    cache.put(entries, &executed.changes);
    Ok(block.verified(&executed.receipts, executed.access_list.map(|list| list.rlp)))
}

/// Verify and execute a block on the state's head, and apply its changes. Nothing is sealed.
///
/// After an error the caller must clear the cache and roll back the state.
pub fn apply(
    spec: &ChainSpec,
    store: &mut StateStore,
    cache: &mut ReadCache,
    block: &UnverifiedBlock,
    head: &ChainHead,
) -> Result<Applied, ExecutionError> {
    require_equal(Rule::ParentHash, store.head().hash, block.header.parent_hash)?;
    if let Err(violation) = head.verify(spec, block) {
        return Err(more_telling(violation, || run(spec, &store.latest(), cache, block)));
    }
    let (mut executed, entries) = run(spec, &store.latest(), cache, block)?;
    for (step, receipt) in std::mem::take(&mut executed.steps).iter().zip(&mut executed.receipts) {
        transactions::set_root(receipt, store.intermediate_root(step)?);
    }
    outcome::verify(&block.header, &executed)?;
    let root = store.apply(block.header.number, &executed.changes)?;
    require_equal(Rule::StateRoot, root, block.header.state_root)?;
    Ok(Applied { executed, entries })
}

fn run(
    spec: &ChainSpec,
    view: &LatestView<'_>,
    cache: &mut ReadCache,
    block: &UnverifiedBlock,
) -> Result<(Executed, CacheState), ExecutionError> {
    let builder = State::builder().with_database_ref(view).with_cached_prestate(cache.take());
    let mut state = builder.with_bundle_update().build();
    let executed = transactions::run(spec, block, &mut state)?;
    Ok((executed, state.cache))
}

/// Return the better reason of two. For a wrong transactions root, the reason is a transaction that cannot be
/// executed, if there is one.
pub fn more_telling<T>(
    violation: RuleViolation,
    execute: impl FnOnce() -> Result<T, ExecutionError>,
) -> ExecutionError {
    if violation.rule != Rule::TransactionsRoot {
        return violation.into();
    }
    match execute() {
        Err(ExecutionError::RuleViolation(cause)) => cause.into(),
        _ => violation.into(),
    }
}
