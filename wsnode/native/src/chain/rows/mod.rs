//! Compact rows: how a block is kept in the chain store.
//!
//! A block is three rows: its header, its body and its receipts. Each begins with a version byte; a transaction,
//! a receipt or a log is found by an offset table and read as one slice. Integers are little-endian.
//! Nothing here panics on a damaged row: every read is bounds-checked and answers a [`RowError`].

mod block_rlp;
mod bloom;
mod body;
mod criteria;
mod encode_receipts;
mod error;
mod fields;
mod header;
mod log_entries;
mod places;
mod read;
mod receipt_values;
mod receipts;
pub mod rlp;
mod write;

pub use block_rlp::block_rlp;
pub use bloom::StoredBloom;
pub use body::{encode_body, encode_body_of, BodyRow, OmmerRow, StoredTransaction, TransactionRow};
pub use criteria::Criteria;
pub use encode_receipts::encode_receipts;
pub use error::RowError;
pub use fields::HeaderFields;
pub use header::{encode_header, HeaderRow};
pub use log_entries::{log_entries, LogEntry};
pub use places::{place, place_key, places, PLACE};
pub use receipts::{LogRow, Outcome, ReceiptRow, ReceiptsRow};
