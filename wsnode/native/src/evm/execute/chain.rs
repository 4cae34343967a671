//! A run of blocks on top of the head.

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

/// The blocks executed, and what is wrong with the one after them if they are not all.
#[derive(Debug, Default)]
pub struct Execution {
    pub verified: Vec<VerifiedBlock>,
    pub error: Option<InvalidBlock>,
}

/// The last block of a chain as the next one sees it.
#[derive(Debug)]
pub struct ChainHead {
    /// It and the blocks before it, the nearest first.
    pub ancestors: VecDeque<Ancestor>,
    pub total_difficulty: U256,
    /// What the next block's maker has chosen.
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

/// Which block is wrong, if it is one.
pub fn invalid(block: &UnverifiedBlock, fault: ExecutionError) -> Result<InvalidBlock, Error> {
    match fault {
        ExecutionError::RuleViolation(violation) => {
            Ok(violation.in_block(Some(block.header.number), Some(block.hash)))
        }
        ExecutionError::Engine(error) => Err(error),
    }
}

/// A block that is applied to the head, and neither sealed nor rolled back yet.
#[derive(Debug)]
pub struct Applied {
    pub executed: Executed,
    /// What the block read and wrote, for the next one.
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

/// Verify and execute a block on the state's head, and apply what it changes; nothing is sealed.
///
/// With an error the cache is to be cleared, and the state to be rolled back.
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

/// Where the root of the transactions is wrong, one of them that cannot be executed is the better reason.
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
