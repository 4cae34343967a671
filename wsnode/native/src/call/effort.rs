//! What work costs of a budget that counts jumps, for what takes long without a jump.

use alloy_primitives::{Address, U256};

/// A call, without what is called.
pub const CALL: u64 = 16;

/// Bytes that are hashed or analysed: a jump's 12 ns are some four of them.
pub fn of_hashing(length: U256) -> u64 {
    length.saturating_to::<u64>() / 4
}

/// Bytes that are copied.
pub fn of_copying(length: U256) -> u64 {
    length.saturating_to::<u64>() / 64
}

/// A precompiled contract run on `length` bytes; nothing for one that takes too long whatever they are.
pub fn of_precompile(address: &Address, length: usize) -> Option<u64> {
    let (high, low) = address.as_slice().split_at(18);
    if high.iter().any(|byte| *byte != 0) {
        return Some(0);
    }
    let length = length as u64;
    match u16::from_be_bytes([low[0], low[1]]) {
        // Recovery of a signer, and multiplication on a curve.
        0x01 | 0x07 => Some(2000),
        0x02 | 0x03 => Some(length / 2),
        0x04 => Some(length / 64),
        0x06 => Some(500),
        // Modular exponentiation, pairings, the Blake2 function, all on BLS curves, and P-256.
        0x05 | 0x08..=0x11 | 0x100 => None,
        _ => Some(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_inputs_cost_more_and_slow_contracts_have_no_price() {
        let contract = |number: u64| Address::left_padding_from(&number.to_be_bytes());
        assert!(of_precompile(&contract(2), 1 << 20) > of_precompile(&contract(2), 64));
        assert_eq!(of_precompile(&contract(5), 0), None);
        assert_eq!(of_precompile(&contract(0x100), 0), None);
        assert_eq!(of_precompile(&Address::repeat_byte(5), 1 << 20), Some(0));
        assert_eq!(of_hashing(U256::MAX), u64::MAX / 4);
    }
}
