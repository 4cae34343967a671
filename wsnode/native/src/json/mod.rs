//! JSON text: read from its start, and written as geth writes it.

mod blocks;
mod hex;
mod reader;
pub mod traces;
mod writer;

#[cfg(test)]
pub(crate) use blocks::random;
pub use blocks::{
    render_block, render_header, render_log, render_logs, render_payload, render_payload_body,
    render_pooled_transaction, render_receipt, render_receipts, render_transaction, render_uncle, write_log,
    BlockContext, BlockStyle, Envelope, LogSelection, Price, TotalDifficulty,
};
pub use reader::{find, Text};
pub use writer::Writer;
