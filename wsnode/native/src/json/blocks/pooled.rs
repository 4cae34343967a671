//! Transaction objects for transactions that are in no block.

use alloy_primitives::{Address, B256};

use crate::chain::rows::{RowError, TransactionRow};

use super::context::BlockContext;
use super::transaction::write_transaction;
use crate::json::Writer;

/// Context of a transaction outside any block. Its price is the whole fee cap.
const NO_BLOCK: BlockContext<'static> = BlockContext {
    hash: &B256::ZERO,
    number: 0,
    timestamp: 0,
    base_fee: None,
    blob_base_fee: None,
    pending: true,
    removed: false,
};

/// Write the transaction in `envelope`, with null for its block and index.
pub fn render_pooled_transaction(
    text: &mut Writer,
    hash: &B256,
    sender: &Address,
    envelope: &[u8],
) -> Result<(), RowError> {
    write_transaction(text, &NO_BLOCK, 0, &TransactionRow { hash, sender, envelope, deposit: None })
}
