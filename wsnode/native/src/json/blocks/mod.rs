//! JSON text written directly from rows, member for member as geth prints it.
//!
//! A value is decoded only as far as its text needs. A hash is copied from the row to the text in one loop
//! without a table.

mod arbitrum;
mod block;
mod bsc;
mod context;
mod fast_lz;
mod head;
mod header;
mod l1_fees;
mod log;
mod payload;
mod pooled;
mod receipt;
mod system;
mod transaction;
mod tx_envelope;
mod withdrawals;

pub use block::{render_block, render_uncle, BlockStyle, TotalDifficulty};
pub use context::BlockContext;
pub use head::render_header;
pub use log::{render_log, render_logs, write_log, LogSelection};
pub use payload::{render_payload, render_payload_body, BodyList};
pub use pooled::render_pooled_transaction;
pub use receipt::{render_receipt, render_receipts};
pub use transaction::render_transaction;
pub use tx_envelope::{Envelope, Price};

#[cfg(test)]
pub(crate) use tests::random;
#[cfg(test)]
mod tests;
