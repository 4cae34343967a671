//! Transactions that no block holds yet, as objects.

use alloy_primitives::{Address, B256};

use crate::chain::rows::{RowError, TransactionRow};

use super::context::BlockContext;
use super::transaction::write_transaction;
use crate::json::Writer;

/// What such a transaction has instead of a block: it is shown with the whole fee as its price.
const NO_BLOCK: BlockContext<'static> = BlockContext {
    hash: &B256::ZERO,
    number: 0,
    timestamp: 0,
    base_fee: None,
    blob_base_fee: None,
    pending: true,
    removed: false,
};

/// Writes the transaction that `envelope` is, with nulls for its place.
pub fn render_pooled_transaction(
    text: &mut Writer,
    hash: &B256,
    sender: &Address,
    envelope: &[u8],
) -> Result<(), RowError> {
    write_transaction(text, &NO_BLOCK, 0, &TransactionRow { hash, sender, envelope, deposit: None })
}
