//! The keys of the tables. Numbers are big-endian, so the order of keys is the order of blocks.

use alloy_primitives::{Address, B256, U256};
use alloy_trie::Nibbles;

pub const ADDRESS: usize = 20;
pub const SLOT: usize = ADDRESS + 32;

/// `accounts`: address, block.
pub type AccountKey = [u8; ADDRESS + 8];
/// `storage`: address, slot, block.
pub type StorageKey = [u8; SLOT + 8];

/// The block number after every block: reads the latest value.
pub const LATEST: u64 = u64::MAX;

pub fn account_key(address: &Address, number: u64) -> AccountKey {
    let mut key = [0; ADDRESS + 8];
    key[..ADDRESS].copy_from_slice(address.as_slice());
    key[ADDRESS..].copy_from_slice(&number.to_be_bytes());
    key
}

/// The part of a storage key before the block.
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

/// A key of some table with its block, on the stack: one is made for every read.
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

/// `key`, of at most `SLOT` bytes, and the block that it is to end with.
pub fn append_number(key: &[u8], number: u64) -> Numbered {
    let mut bytes = [0; SLOT + 8];
    let length = key.len() + 8;
    bytes[..key.len()].copy_from_slice(key);
    bytes[key.len()..length].copy_from_slice(&number.to_be_bytes());
    Numbered { bytes, length }
}

/// A key without the block that it ends with, and the block.
pub fn split_number(key: &[u8]) -> (&[u8], u64) {
    let (rest, number) = key.split_last_chunk().unwrap_or((key, &[0; 8]));
    (rest, u64::from_be_bytes(*number))
}

/// `changes`: block, part.
pub fn changes_key(number: u64, part: u32) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key[8..].copy_from_slice(&part.to_be_bytes());
    key
}

/// `account_nodes`: path; `storage_nodes`: owner, path. A path is its nibbles packed, an odd one ending
/// in a zero nibble, and their count; so a node stands beside those below it.
pub fn node_key(owner: Option<&B256>, path: &Nibbles) -> Vec<u8> {
    let mut key = Vec::with_capacity(65);
    key.extend_from_slice(owner.map_or(&[], B256::as_slice));
    key.extend_from_slice(&path.pack());
    key.push(path.len() as u8);
    key
}
