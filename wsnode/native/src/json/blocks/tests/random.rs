//! Random values, the same in every run.

use alloy_primitives::{Address, Bytes, B256, U256};

/// Pseudo-random numbers (xorshift), the same in every run.
pub struct Random(pub u64);

impl Random {
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.number() % bound as u64) as usize
    }

    /// Return a number of any length, so that leading zeros occur.
    pub fn quantity(&mut self) -> u64 {
        let shift = self.below(65);
        self.number().checked_shr(shift as u32).unwrap_or(0)
    }

    pub fn bytes(&mut self, bound: usize) -> Bytes {
        let length = self.below(bound);
        (0..length).map(|_| self.number() as u8).collect()
    }

    pub fn hash(&mut self) -> B256 {
        B256::from_slice(&std::array::from_fn::<u8, 32, _>(|_| self.number() as u8))
    }

    pub fn address(&mut self) -> Address {
        Address::from_word(self.hash())
    }

    pub fn wei(&mut self) -> U256 {
        let shift = self.below(257);
        U256::from_be_bytes(self.hash().0).checked_shr(shift).unwrap_or_default()
    }
}
