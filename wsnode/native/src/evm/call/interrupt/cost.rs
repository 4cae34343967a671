//! What work costs of a budget that counts jumps, for what takes long without a jump.

use alloy_primitives::{Address, U256};
use revm::context::ContextTr;
use revm::interpreter::CallInputs;

/// A call, without what is called.
pub const CALL: u64 = 16;

/// A division of two words, 20 to 40 ns.
pub const DIVISION: u64 = 3;
/// One of two words by a third.
pub const LONG_DIVISION: u64 = 6;
/// The running contract's own balance, which is looked up each time.
pub const OWN_BALANCE: u64 = 4;
/// A value of the state that the run has not read yet, half a microsecond where its page is in memory.
pub const READ: u64 = 40;

/// A power with an exponent of `bits` bits: two multiplications for each.
pub fn of_power(bits: usize) -> u64 {
    bits as u64 / 2
}

/// Bytes that are hashed or analysed: a jump's 12 ns are some four of them.
pub fn of_hashing(length: U256) -> u64 {
    length.saturating_to::<u64>() / 4
}

/// Values that are put on top of a state.
pub fn of_values(count: usize) -> u64 {
    10 * count as u64
}

/// Bytes that are copied.
pub fn of_copying(length: U256) -> u64 {
    length.saturating_to::<u64>() / 64
}

/// The precompiled contract that usually is at `address`; nothing for one that takes too long whatever it is given.
pub fn of_precompile<C: ContextTr>(address: &Address, inputs: &CallInputs, context: &C) -> Option<u64> {
    let (high, low) = address.as_slice().split_at(18);
    if high.iter().any(|byte| *byte != 0) {
        return Some(0);
    }
    let length = inputs.input.len() as u64;
    match u16::from_be_bytes([low[0], low[1]]) {
        // Recovery of a signer, and multiplication on a curve.
        0x01 | 0x07 => Some(2000),
        0x02 | 0x03 => Some(length / 2),
        0x04 => Some(length / 64),
        0x06 => Some(500),
        0x09 => Some(of_compression(&inputs.input.as_bytes(context))),
        // Modular exponentiation, pairings, all on BLS curves, and P-256.
        0x05 | 0x08 | 0x0a..=0x11 | 0x100 => None,
        _ => Some(0),
    }
}

/// The Blake2 function, whose input begins with the number of rounds (EIP-152), 8 ns each.
fn of_compression(input: &[u8]) -> u64 {
    input.first_chunk().map_or(0, |rounds| u64::from(u32::from_be_bytes(*rounds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_inputs_cost_more() {
        assert_eq!(of_hashing(U256::MAX), u64::MAX / 4);
        assert!(of_copying(U256::from(1 << 20)) > of_copying(U256::from(64)));
        assert!(of_power(256) > of_power(8));
        assert_eq!(of_compression(&[0xff; 213]), u64::from(u32::MAX));
        assert_eq!(of_compression(&[]), 0);
    }
}
