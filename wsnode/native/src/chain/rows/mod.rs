//! Compact rows of a block in the chain store.
//!
//! A block is three rows: its header, its body and its receipts. Each begins with a version byte; a
//! transaction, a receipt or a log is found by an offset table and read as one slice. Integers are
//! little-endian. Reads of a damaged row are bounds-checked: they return a [`RowError`] and never panic.

mod block_rlp;
mod bloom;
mod body;
mod criteria;
mod encode_receipts;
mod fields;
mod header;
mod log_entries;
mod read;
mod receipt_envelopes;
mod receipts;
pub mod rlp;
pub mod transaction;
mod tx_lookup;
mod write;

pub use block_rlp::block_rlp;
pub use bloom::StoredBloom;
pub use body::{encode_body, encode_body_of, with_deposits, BodyRow, TransactionRow};
pub use criteria::Criteria;
pub use encode_receipts::{encode_receipts, encode_receipts_of, StoredReceipt};
pub use fields::HeaderFields;
pub use header::{encode_header, HeaderRow};
pub use log_entries::log_entries;
pub use read::RowError;
pub use receipts::{DepositReceipt, LogRow, ReceiptOutcome, ReceiptRow, ReceiptsRow};
pub use transaction::{StoredTransaction, Transaction};
pub use tx_lookup::{location, locations, lookup_key, LOCATION_SIZE};
