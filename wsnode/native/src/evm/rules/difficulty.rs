//! Difficulty of a mined block: the formula of each fork, with the delays of the difficulty bomb.

use alloy_consensus::{Header, EMPTY_OMMER_ROOT_HASH};
use alloy_primitives::U256;

use crate::evm::chain_spec::{ChainSpec, Fork};

const MINIMUM: u64 = 131_072;
const BOUND_DIVISOR: u64 = 2048;
const FRONTIER_DURATION_LIMIT: u64 = 13;
const BOMB_PERIOD: u64 = 100_000;
const MAX_STEP_DOWN: u64 = 99;

/// Delay of the difficulty bomb in blocks from each fork on, the latest first.
const BOMB_DELAYS: [(Fork, u64); 6] = [
    (Fork::GrayGlacier, 11_400_000),
    (Fork::ArrowGlacier, 10_700_000),
    (Fork::London, 9_700_000),
    (Fork::MuirGlacier, 9_000_000),
    (Fork::Constantinople, 5_000_000),
    (Fork::Byzantium, 3_000_000),
];

/// Return the difficulty of the block after `parent` at `timestamp`, which is later than the parent's.
pub fn next_difficulty(spec: &ChainSpec, timestamp: u64, parent: &Header) -> U256 {
    let number = parent.number + 1;
    let elapsed = timestamp.saturating_sub(parent.timestamp);
    let (base, counted) = if let Some(delay) = bomb_delay(spec, number) {
        let optimum = if parent.ommers_hash == EMPTY_OMMER_ROOT_HASH { 1 } else { 2 };
        (adjusted(parent.difficulty, optimum, elapsed / 9), number.saturating_sub(delay))
    } else if spec.is_active(Fork::Homestead, number) {
        (adjusted(parent.difficulty, 1, elapsed / 10), number)
    } else {
        (frontier(parent.difficulty, elapsed), number)
    };
    base.max(U256::from(MINIMUM)) + bomb(counted)
}

fn bomb_delay(spec: &ChainSpec, number: u64) -> Option<u64> {
    BOMB_DELAYS.iter().find(|(fork, _)| spec.is_active(*fork, number)).map(|(_, delay)| *delay)
}

/// Return the parent's difficulty, one step up for each period saved, or one step down for each period lost,
/// at most 99 down.
///
/// A period is 9 seconds from Byzantium on, and 10 seconds before.
fn adjusted(parent: U256, optimum: u64, periods: u64) -> U256 {
    let step = parent / U256::from(BOUND_DIVISOR);
    if periods <= optimum {
        return parent + step * U256::from(optimum - periods);
    }
    parent.saturating_sub(step * U256::from((periods - optimum).min(MAX_STEP_DOWN)))
}

fn frontier(parent: U256, elapsed: u64) -> U256 {
    let step = parent / U256::from(BOUND_DIVISOR);
    if elapsed < FRONTIER_DURATION_LIMIT {
        parent + step
    } else {
        parent.saturating_sub(step)
    }
}

fn bomb(number: u64) -> U256 {
    match number / BOMB_PERIOD {
        0 | 1 => U256::ZERO,
        period => U256::ONE.checked_shl((period - 2).min(255) as usize).unwrap_or(U256::MAX >> 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difficulty_falls_by_at_most_99_steps() {
        let parent = U256::from(2_048_000_u64);
        assert_eq!(adjusted(parent, 1, 1000), parent - U256::from(99_000));
        assert_eq!(adjusted(parent, 2, 0), parent + U256::from(2_000));
    }

    #[test]
    fn the_bomb_starts_after_two_periods() {
        assert_eq!(bomb(199_999), U256::ZERO);
        assert_eq!(bomb(200_000), U256::ONE);
        assert_eq!(bomb(300_000), U256::from(2));
    }
}
