//! Plan of the blocks: numbers and times, and empty blocks in gaps.

use alloy_consensus::Header;
use alloy_primitives::U256;

use super::request::{Block, BlockOverrides};
use crate::error::Error;
use crate::evm::call::refusal::refuse;

/// Highest distance in blocks from the base to the last simulated block, gaps included.
const MAXIMUM_BLOCKS: u64 = 256;
/// Seconds between two blocks by default.
const SLOT: u64 = 12;

/// Block with its number and time.
#[derive(Debug)]
pub struct Planned {
    pub number: u64,
    pub timestamp: u64,
    pub block: Block,
}

/// Give `blocks` numbers and times on top of `base`, and fill gaps with empty blocks.
pub fn plan(blocks: Vec<Block>, base: &Header) -> Result<Vec<Planned>, Error> {
    let mut planned = Vec::with_capacity(blocks.len());
    let (mut number, mut timestamp) = (base.number, base.timestamp);
    for block in blocks {
        let wanted = wanted_number(&block.overrides, number, base.number)?;
        while number + 1 < wanted {
            number += 1;
            timestamp = timestamp.wrapping_add(SLOT);
            planned.push(Planned { number, timestamp, block: Block::default() });
        }
        number = wanted;
        timestamp = wanted_time(&block.overrides, timestamp)?;
        planned.push(Planned { number, timestamp, block });
    }
    Ok(planned)
}

fn wanted_number(overrides: &BlockOverrides, previous: u64, base: u64) -> Result<u64, Error> {
    let wanted = overrides.number.unwrap_or_else(|| U256::from(previous) + U256::from(1));
    if wanted <= U256::from(previous) {
        let text = format!("block numbers must be in order: {wanted} <= {previous}");
        return Err(refuse("block_number", text));
    }
    match u64::try_from(wanted) {
        Ok(number) if number - base <= MAXIMUM_BLOCKS => Ok(number),
        _ => Err(refuse("client_limit", "too many blocks")),
    }
}

fn wanted_time(overrides: &BlockOverrides, previous: u64) -> Result<u64, Error> {
    match overrides.time {
        None => Ok(previous.wrapping_add(SLOT)),
        Some(time) if time.to::<u64>() > previous => Ok(time.to()),
        Some(time) => {
            let text = format!("block timestamps must be in order: {time} <= {previous}");
            Err(refuse("block_timestamp", text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::U64;

    fn at(number: Option<u64>, time: Option<u64>) -> Block {
        let overrides = BlockOverrides {
            number: number.map(U256::from),
            time: time.map(U64::from),
            ..BlockOverrides::default()
        };
        Block { overrides, ..Block::default() }
    }

    fn planned_blocks(blocks: Vec<Block>) -> Result<Vec<(u64, u64)>, String> {
        let base = Header { number: 10, timestamp: 100, ..Header::default() };
        let planned = plan(blocks, &base).map_err(|error| error.to_string())?;
        Ok(planned.iter().map(|planned| (planned.number, planned.timestamp)).collect())
    }

    #[test]
    fn gaps_are_filled_with_blocks_twelve_seconds_apart() {
        let blocks = vec![at(Some(13), None), at(None, Some(200))];
        assert_eq!(planned_blocks(blocks).unwrap(), [(11, 112), (12, 124), (13, 136), (14, 200)]);
    }

    #[test]
    fn numbers_and_times_must_rise() {
        let error = "block numbers must be in order: 10 <= 10";
        assert_eq!(planned_blocks(vec![at(Some(10), None)]).unwrap_err(), error);
        let error = "block timestamps must be in order: 112 <= 124";
        assert_eq!(planned_blocks(vec![at(Some(13), Some(112))]).unwrap_err(), error);
    }

    #[test]
    fn no_block_lies_more_than_256_above_the_base() {
        assert_eq!(planned_blocks(vec![at(Some(266), None)]).unwrap().len(), 256);
        assert_eq!(planned_blocks(vec![at(Some(267), None)]).unwrap_err(), "too many blocks");
    }
}
