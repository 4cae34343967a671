//! Rules of ommers: headers of blocks beside the chain, at most six generations back.

use std::collections::HashSet;

use alloy_consensus::Header;
use alloy_primitives::B256;

use super::{header, Ancestor, Chosen};
use crate::error::{Rule, RuleViolation};
use crate::evm::block::UnverifiedBlock;
use crate::evm::chain_spec::ChainSpec;

const MAXIMUM: usize = 2;

pub fn verify(
    spec: &ChainSpec,
    block: &UnverifiedBlock,
    ancestors: &[&Ancestor],
) -> Result<(), RuleViolation> {
    if block.ommers.is_empty() {
        return Ok(());
    }
    if block.ommers.len() > MAXIMUM {
        return Err(RuleViolation::new(Rule::OmmerCount, "at most 2 ommers", block.ommers.len()));
    }
    let mut seen: HashSet<B256> =
        ancestors.iter().flat_map(|ancestor| &ancestor.ommers).map(Header::hash_slow).collect();
    seen.insert(block.hash);
    for ommer in &block.ommers {
        let hash = ommer.hash_slow();
        if !seen.insert(hash) {
            return Err(RuleViolation::new(Rule::OmmerDuplicate, "ommers that are new", hash));
        }
        verify_ommer(spec, ommer, hash, ancestors)?;
    }
    Ok(())
}

fn verify_ommer(
    spec: &ChainSpec,
    ommer: &Header,
    hash: B256,
    ancestors: &[&Ancestor],
) -> Result<(), RuleViolation> {
    if ancestors.iter().any(|ancestor| ancestor.hash == hash) {
        return Err(RuleViolation::new(Rule::OmmerAncestor, "an ommer beside the chain", hash));
    }
    let parent = ancestors.iter().skip(1).find(|ancestor| ancestor.hash == ommer.parent_hash);
    let Some(parent) = parent else {
        return Err(RuleViolation::new(
            Rule::OmmerGeneration,
            "a parent 2 to 7 blocks back",
            ommer.parent_hash,
        ));
    };
    verify_header(spec, ommer, parent).map_err(|violation| {
        let RuleViolation { rule, expected, actual } = violation;
        let name = rule.name();
        RuleViolation::new(Rule::OmmerHeader, format!("{name} {expected}"), actual)
    })
}

fn verify_header(spec: &ChainSpec, ommer: &Header, parent: &Ancestor) -> Result<(), RuleViolation> {
    header::verify_parent(ommer, parent)?;
    header::verify_proof_of_work(spec, ommer, parent)?;
    header::verify(spec, ommer, &parent.header, Chosen::default())
}
