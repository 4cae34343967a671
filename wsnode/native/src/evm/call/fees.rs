//! What a message pays for gas.

use alloy_primitives::U256;

use super::Message;

/// The fees of a message under a block's base fee.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fees {
    /// The most that it pays for gas, and the most of that which may be a tip.
    pub cap: U256,
    pub tip: U256,
    /// What it pays. Zero if it names no fee at all, even where there is a base fee.
    pub price: U256,
    /// Whether cap and tip are apart, as in transactions of type 2 and above.
    pub is_dynamic: bool,
}

impl Fees {
    pub fn of(message: &Message, base_fee: Option<u64>) -> Self {
        let legacy = message.gas_price.or_else(|| base_fee.is_none().then_some(U256::ZERO));
        if let Some(price) = legacy {
            return Self { cap: price, tip: price, price, is_dynamic: false };
        }
        let cap = message.max_fee.unwrap_or_default();
        let tip = message.max_priority_fee.unwrap_or_default();
        let base_fee = U256::from(base_fee.unwrap_or_default());
        let is_free = cap.is_zero() && tip.is_zero();
        let price = if is_free { U256::ZERO } else { tip.saturating_add(base_fee).min(cap) };
        Self { cap, tip, price, is_dynamic: !is_free }
    }
}
