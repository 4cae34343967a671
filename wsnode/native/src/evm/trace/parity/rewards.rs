//! Rewards of a block of proof of work for its miner and for the miners of its ommers.

use alloy_consensus::Header;
use alloy_eips::BlockNumHash;
use alloy_evm::block::calc::{base_block_reward, block_reward, ommer_reward};
use alloy_primitives::{B256, U256};
use alloy_rpc_types_trace::parity::{LocalizedTransactionTrace, RewardAction, RewardType};

use crate::chain::rows::{BodyRow, HeaderRow};
use crate::engine::Rows;
use crate::error::Error;
use crate::evm::chain_spec::ChainSpec;
use crate::evm::environment::rules_of;

/// Return the rewards in wei, the block's own first; an empty list for a block without rewards.
pub fn rewards(spec: &ChainSpec, (header, body): Rows<'_>) -> Result<Vec<RewardAction>, Error> {
    let header: Header = HeaderRow::new(header)?.header()?;
    // A genesis block pays no reward: its balances are given by the genesis file.
    let base = base_block_reward(rules_of(spec, &header), header.number).filter(|_| header.number > 0);
    let Some(base) = base else { return Ok(Vec::new()) };
    let ommers = BodyRow::new(body)?.ommers()?;
    let own = RewardAction {
        author: header.beneficiary,
        reward_type: RewardType::Block,
        value: U256::from(block_reward(base, ommers.len())),
    };
    let of_ommer = |ommer: &Header| RewardAction {
        author: ommer.beneficiary,
        reward_type: RewardType::Uncle,
        value: U256::from(ommer_reward(base, header.number, ommer.number)),
    };
    Ok(std::iter::once(own).chain(ommers.iter().map(of_ommer)).collect())
}

/// Return the rewards as traces of their block.
pub fn traces(spec: &ChainSpec, rows: Rows<'_>) -> Result<Vec<LocalizedTransactionTrace>, Error> {
    let row = HeaderRow::new(rows.0)?;
    let (number, hash): (u64, B256) = (row.header()?.number, *row.hash());
    let block = BlockNumHash { number, hash };
    Ok(rewards(spec, rows)?.into_iter().map(|reward| reward.into_localized_trace(block)).collect())
}
