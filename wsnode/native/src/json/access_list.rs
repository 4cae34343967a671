//! Block access list as JSON in the form of `eth_getBlockAccessList` (execution-apis, src/schemas/bal.yaml).

use alloy_eips::eip7928::{AccountChanges, BlockAccessList};
use alloy_primitives::U256;
use alloy_rlp::decode_exact;

use super::Writer;
use crate::chain::rows::RowError;

/// Write the block access list in the RLP `encoded`.
pub fn render_access_list(text: &mut Writer, encoded: &[u8]) -> Result<(), RowError> {
    let list: BlockAccessList =
        decode_exact(encoded).map_err(|_| RowError::Corrupt("block access list RLP"))?;
    // Each byte becomes two digits, and the keys of the JSON take about as much again.
    text.reserve(4 * encoded.len());
    text.fixed(b"[");
    written(text, &list, write_account);
    text.fixed(b"]");
    Ok(())
}

fn write_account(text: &mut Writer, account: &AccountChanges) {
    text.fixed(b"{\"address\":\"0x");
    text.hash(&account.address.0 .0);
    text.fixed(b"\",\"storageChanges\":[");
    written(text, &account.storage_changes, |text, slot| {
        text.fixed(b"{\"key\":");
        write_word(text, slot.slot);
        text.fixed(b",\"changes\":[");
        written(text, &slot.changes, |text, change| {
            write_index(text, change.block_access_index.get());
            text.fixed(b",\"value\":");
            write_word(text, change.new_value);
            text.fixed(b"}");
        });
        text.fixed(b"]}");
    });
    text.fixed(b"],\"storageReads\":[");
    written(text, &account.storage_reads, |text, slot| write_word(text, *slot));
    text.fixed(b"],\"balanceChanges\":[");
    written(text, &account.balance_changes, |text, change| {
        write_index(text, change.block_access_index.get());
        text.fixed(b",\"value\":\"0x");
        text.big_quantity(&change.post_balance.to_be_bytes::<32>());
        text.fixed(b"\"}");
    });
    text.fixed(b"],\"nonceChanges\":[");
    written(text, &account.nonce_changes, |text, change| {
        write_index(text, change.block_access_index.get());
        text.fixed(b",\"value\":\"0x");
        text.quantity(change.new_nonce);
        text.fixed(b"\"}");
    });
    text.fixed(b"],\"codeChanges\":[");
    written(text, &account.code_changes, |text, change| {
        write_index(text, change.block_access_index.get());
        text.fixed(b",\"code\":");
        text.quoted_bytes(&change.new_code);
        text.fixed(b"}");
    });
    text.fixed(b"]}");
}

/// Write the beginning of an object with its member `index`.
fn write_index(text: &mut Writer, index: u64) {
    text.fixed(b"{\"index\":\"0x");
    text.quantity(index);
    text.fixed(b"\"");
}

fn write_word(text: &mut Writer, word: U256) {
    text.fixed(b"\"0x");
    text.hash(&word.to_be_bytes::<32>());
    text.fixed(b"\"");
}

/// Write `items` with a comma between two of them.
fn written<T>(text: &mut Writer, items: &[T], write: impl Fn(&mut Writer, &T)) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            text.fixed(b",");
        }
        write(text, item);
    }
}
