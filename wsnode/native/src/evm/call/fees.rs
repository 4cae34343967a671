//! Fees of a message for gas.

use alloy_primitives::U256;

use super::Message;

/// Fees of a message under a block's base fee, in wei per gas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fees {
    /// Highest price for gas. `tip` is the highest part of it for the proposer.
    pub cap: U256,
    pub tip: U256,
    /// Price that the message pays. Zero if it names no fee, also under a base fee.
    pub price: U256,
    /// True if cap and tip differ, as in transactions of type 2 and above.
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
