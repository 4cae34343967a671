//! JSON text: read from its start, and written as geth writes it.

mod access_list;
mod blocks;
mod reader;
pub mod traces;
mod writer;

pub use access_list::render_access_list;
#[cfg(test)]
pub(crate) use blocks::random;
pub use blocks::{
    render_block, render_header, render_log, render_logs, render_payload, render_payload_body,
    render_pooled_transaction, render_receipt, render_receipts, render_transaction, render_uncle, write_log,
    BlockContext, BlockStyle, BodyList, Envelope, LogSelection, Price, TotalDifficulty,
};
pub use reader::Text;
pub use writer::Writer;
