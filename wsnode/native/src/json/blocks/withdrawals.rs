//! Withdrawal objects.

use crate::chain::rows::rlp::Items;
use crate::chain::rows::RowError;

use crate::json::Writer;

/// Write the list of the withdrawals in the RLP `encoded`.
pub fn write_withdrawals(text: &mut Writer, encoded: &[u8]) -> Result<(), RowError> {
    text.list(Items::of_list(encoded)?.lists(), write_withdrawal)
}

fn write_withdrawal(text: &mut Writer, mut withdrawal: Items<'_>) -> Result<(), RowError> {
    text.fixed(b"{\"index\":\"0x");
    text.quantity(withdrawal.u64()?);
    text.fixed(b"\",\"validatorIndex\":\"0x");
    text.quantity(withdrawal.u64()?);
    text.fixed(b"\",\"address\":\"0x");
    text.hash(withdrawal.array::<20>()?);
    text.fixed(b"\",\"amount\":\"0x");
    text.quantity(withdrawal.u64()?);
    text.fixed(b"\"}");
    Ok(())
}
