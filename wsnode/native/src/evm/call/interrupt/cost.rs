//! Costs in a work budget of operations that take long without a jump. The unit is one jump, some 12 ns.

use alloy_primitives::{Address, U256};
use revm::context::ContextTr;
use revm::interpreter::CallInputs;

/// Cost of a call, without the called code.
pub const CALL: u64 = 16;

/// Cost of a division of two words, 20 to 40 ns.
pub const DIVISION: u64 = 3;
/// Cost of ADDMOD or MULMOD: a sum or product of two words, divided by a third word.
pub const LONG_DIVISION: u64 = 6;
/// Cost of SELFBALANCE: the balance is looked up each time.
pub const OWN_BALANCE: u64 = 4;
/// Cost of the first read of a value of the state, half a microsecond if its page is in memory.
pub const READ: u64 = 40;

/// Return the cost of a power with an exponent of `bits` bits: two multiplications for each bit.
pub fn of_power(bits: usize) -> u64 {
    bits as u64 / 2
}

/// Return the cost of `length` bytes that are hashed or analysed, some four in the 12 ns of a jump.
pub fn of_hashing(length: U256) -> u64 {
    length.saturating_to::<u64>() / 4
}

/// Return the cost of `count` values by which overrides replace those of a state.
pub fn of_values(count: usize) -> u64 {
    10 * count as u64
}

/// Return the cost of `length` bytes that are copied.
pub fn of_copying(length: U256) -> u64 {
    length.saturating_to::<u64>() / 64
}

/// Return the cost of the precompiled contract whose usual address is `address`. None for a contract that
/// takes too long with any input.
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
        // Modular exponentiation, pairings (0x0a checks a KZG proof by one), all contracts on BLS12-381, and
        // P-256.
        0x05 | 0x08 | 0x0a..=0x11 | 0x100 => None,
        _ => Some(0),
    }
}

/// Return the cost of the BLAKE2b function F, some 8 ns a round. The input begins with the number of rounds
/// (EIP-152).
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
