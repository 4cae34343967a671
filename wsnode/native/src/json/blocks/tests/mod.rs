//! Tests of the renderer against alloy's RPC types, over real and random blocks.

mod blocks;
mod busy;
mod damage;
pub mod random;
mod receipts;
mod samples;
mod timing;
mod transactions;

use serde_json::Value;

use crate::chain::rows::RowError;
use crate::json::Writer;

fn text<T>(write: impl FnOnce(&mut Writer) -> Result<T, RowError>) -> Vec<u8> {
    let mut writer = Writer::default();
    write(&mut writer).unwrap();
    writer.into_text()
}

fn value<T>(write: impl FnOnce(&mut Writer) -> Result<T, RowError>) -> Value {
    let text = text(write);
    serde_json::from_slice(&text)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&text)))
}
