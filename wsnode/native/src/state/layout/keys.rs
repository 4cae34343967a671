//! Keys of the tables. Numbers are big-endian, so the order of keys is the order of blocks.

use alloy_primitives::{Address, B256, U256};
use alloy_trie::Nibbles;

pub const ADDRESS: usize = 20;
pub const SLOT: usize = ADDRESS + 32;

/// Key of `accounts`: address, block.
pub type AccountKey = [u8; ADDRESS + 8];
/// Key of `storage`: address, slot, block.
pub type StorageKey = [u8; SLOT + 8];

/// Block number above every block, by which the latest value is read.
pub const LATEST: u64 = u64::MAX;

pub fn account_key(address: &Address, number: u64) -> AccountKey {
    let mut key = [0; ADDRESS + 8];
    key[..ADDRESS].copy_from_slice(address.as_slice());
    key[ADDRESS..].copy_from_slice(&number.to_be_bytes());
    key
}

/// Return the address and slot of a storage key, without the block.
pub fn slot_key(address: &Address, slot: &U256) -> [u8; SLOT] {
    let mut key = [0; SLOT];
    key[..ADDRESS].copy_from_slice(address.as_slice());
    key[ADDRESS..].copy_from_slice(&slot.to_be_bytes::<32>());
    key
}

pub fn storage_key(address: &Address, slot: &U256, number: u64) -> StorageKey {
    let mut key = [0; SLOT + 8];
    key[..SLOT].copy_from_slice(&slot_key(address, slot));
    key[SLOT..].copy_from_slice(&number.to_be_bytes());
    key
}

/// Key with a block number, on the stack because each read makes one.
pub struct Numbered {
    bytes: [u8; SLOT + 8],
    length: usize,
}

impl std::ops::Deref for Numbered {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Append block `number` to `key`, of at most `SLOT` bytes.
pub fn append_number(key: &[u8], number: u64) -> Numbered {
    let mut bytes = [0; SLOT + 8];
    let length = key.len() + 8;
    bytes[..key.len()].copy_from_slice(key);
    bytes[key.len()..length].copy_from_slice(&number.to_be_bytes());
    Numbered { bytes, length }
}

/// Split a key into the part before its block number, and the number.
pub fn split_number(key: &[u8]) -> (&[u8], u64) {
    let (rest, number) = key.split_last_chunk().unwrap_or((key, &[0; 8]));
    (rest, u64::from_be_bytes(*number))
}

/// Return a key of `changes`: block, part.
pub fn changes_key(number: u64, part: u32) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key[8..].copy_from_slice(&part.to_be_bytes());
    key
}

/// Return a key of `account_nodes`, a path, or of `storage_nodes`, an owner (hash of the address) and a path.
///
/// A path is its packed nibbles, padded with a zero nibble if their count is odd, and the count; so a node is
/// stored next to its descendants.
pub fn node_key(owner: Option<&B256>, path: &Nibbles) -> Vec<u8> {
    let mut key = Vec::with_capacity(65);
    key.extend_from_slice(owner.map_or(&[], B256::as_slice));
    key.extend_from_slice(&path.pack());
    key.push(path.len() as u8);
    key
}
