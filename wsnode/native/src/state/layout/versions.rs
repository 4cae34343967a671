//! Rows of `accounts` and `storage`: several versions of one value, newest first.
//!
//! The key ends with the block of the row's oldest version. A version is the number of blocks since then
//! (LEB128), the value's length (one byte) and the value. With a row for each version, keys would be most of
//! the store: 80 bytes for a changed slot instead of some 12.

use super::keys::{append_number, split_number, LATEST};
use crate::state::StateError;
use crate::store::{ReadTxn, Table, WriteTxn};

/// Length in bytes from which a row takes no more versions: a read scans half a row, in 0.1 us.
const FULL: usize = 400;

/// Return the value after block `number`, of the versions under `key`; None if there is no version up to it.
pub fn value_at<'t>(
    txn: &'t ReadTxn<'_>,
    table: Table,
    key: &[u8],
    number: u64,
) -> Result<Option<&'t [u8]>, StateError> {
    let Some((first, row)) = row_at(txn, table, key, number)? else {
        return Ok(None);
    };
    let kept = without_later(row, first, number)?;
    Ok(Some(split(kept).ok_or_else(corrupt)?.1))
}

/// Return the blocks up to `last` with a version under `key`, newest first, `limit` of them at most.
pub fn numbers_up_to(
    txn: &ReadTxn<'_>,
    table: Table,
    key: &[u8],
    last: u64,
    limit: usize,
) -> Result<Vec<u64>, StateError> {
    let (mut numbers, mut bound) = (Vec::new(), last);
    while let Some((first, row)) = row_at(txn, table, key, bound)? {
        let in_row = numbers_in(row, first)?;
        numbers.extend(in_row.into_iter().filter(|number| *number <= bound));
        match first.checked_sub(1) {
            Some(before) if numbers.len() < limit => bound = before,
            _ => break,
        }
    }
    numbers.truncate(limit);
    Ok(numbers)
}

/// Return the blocks from `first` on with a version under `key`, oldest first, `limit` of them at most.
pub fn numbers_from(
    txn: &ReadTxn<'_>,
    table: Table,
    key: &[u8],
    first: u64,
    limit: usize,
) -> Result<Vec<u64>, StateError> {
    let mut numbers = Vec::new();
    let mut begin = row_at(txn, table, key, first)?.map_or(first, |(oldest, _)| oldest);
    loop {
        let found = table.at_or_after(txn, &append_number(key, begin))?;
        let found = found.filter(|(found, _)| found.len() == key.len() + 8 && found.starts_with(key));
        let Some((found, row)) = found else { break };
        let oldest = split_number(found).1;
        let in_row = numbers_in(row, oldest)?;
        numbers.extend(in_row.into_iter().rev().filter(|number| *number >= first));
        if numbers.len() >= limit || oldest == LATEST {
            break;
        }
        begin = oldest + 1;
    }
    numbers.truncate(limit);
    Ok(numbers)
}

/// Return the blocks of a row's versions, newest first; `first` is the block of the oldest.
fn numbers_in(row: &[u8], first: u64) -> Result<Vec<u64>, StateError> {
    Ok(versions_in(row, first)?.into_iter().map(|(number, _)| number).collect())
}

/// Return the versions of a row, newest first, each with its block; `first` is the block of the oldest.
pub fn versions_in(mut row: &[u8], first: u64) -> Result<Vec<(u64, &[u8])>, StateError> {
    let mut versions = Vec::new();
    while !row.is_empty() {
        let (since, value, older) = split(row).ok_or_else(corrupt)?;
        versions.push((first.checked_add(since).ok_or_else(corrupt)?, value));
        row = older;
    }
    Ok(versions)
}

/// Write versions, sorted by key; the last 8 bytes of a key are its version's block.
pub fn put<const N: usize, V>(
    txn: &mut WriteTxn<'_>,
    table: Table,
    versions: &[([u8; N], V)],
    encode: impl Fn(&V, &mut Vec<u8>),
) -> Result<(), StateError> {
    let mut value = Vec::with_capacity(80);
    for same in versions.chunk_by(|one, next| one.0[..N - 8] == next.0[..N - 8]) {
        let (key, first) = split_number(&same[0].0);
        let mut row = GrowingRow::last(txn, table, key, first)?;
        for (version, decoded) in same {
            let number = split_number(version).1;
            if row.length() >= FULL {
                table.put(txn, &append_number(key, row.first), &row.encoded())?;
                row = GrowingRow { first: number, ..GrowingRow::default() };
            }
            value.clear();
            encode(decoded, &mut value);
            row.push(number, &value);
        }
        table.put(txn, &append_number(key, row.first), &row.encoded())?;
    }
    Ok(())
}

/// Drop the versions under `key` of block `number` and of later blocks.
pub fn drop_from(txn: &mut WriteTxn<'_>, table: Table, key: &[u8], number: u64) -> Result<(), StateError> {
    while let Some((first, row)) = row_at(txn, table, key, LATEST)? {
        let name = append_number(key, first);
        if first < number {
            let kept = without_later(row, first, number - 1)?.to_vec();
            return Ok(table.put(txn, &name, &kept)?);
        }
        table.delete(txn, &name)?;
    }
    Ok(())
}

/// Drop the versions under `key` that are older than the last one up to block `number`.
///
/// The last one is dropped too if its value is empty, because a value without a version is empty as well.
pub fn drop_before(txn: &mut WriteTxn<'_>, table: Table, key: &[u8], number: u64) -> Result<(), StateError> {
    let Some((first, row)) = row_at(txn, table, key, number)? else {
        return Ok(());
    };
    let row = row.to_vec();
    let mut versions = versions_in(&row, first)?;
    let before = versions.len();
    let last = versions.iter().position(|(since, _)| *since <= number).ok_or_else(corrupt)?;
    versions.truncate(last + usize::from(!versions[last].1.is_empty()));
    if versions.len() < before {
        table.delete(txn, &append_number(key, first))?;
        put_row(txn, table, key, &versions)?;
    }
    while let Some(below) = first.checked_sub(1) {
        let Some((older, _)) = row_at(txn, table, key, below)? else { break };
        table.delete(txn, &append_number(key, older))?;
    }
    Ok(())
}

/// Write one row of versions, given newest first.
fn put_row(
    txn: &mut WriteTxn<'_>,
    table: Table,
    key: &[u8],
    versions: &[(u64, &[u8])],
) -> Result<(), StateError> {
    let Some((first, _)) = versions.last() else {
        return Ok(());
    };
    let mut row = GrowingRow { first: *first, ..GrowingRow::default() };
    versions.iter().rev().for_each(|(number, value)| row.push(*number, value));
    Ok(table.put(txn, &append_number(key, *first), &row.encoded())?)
}

/// Return the row with the versions under `key` up to block `number`, and the block of its oldest version.
fn row_at<'t>(
    txn: &'t ReadTxn<'_>,
    table: Table,
    key: &[u8],
    number: u64,
) -> Result<Option<(u64, &'t [u8])>, StateError> {
    let found = table.at_or_before(txn, &append_number(key, number))?;
    let found = found.filter(|(found, _)| found.len() == key.len() + 8 && found.starts_with(key));
    Ok(found.map(|(found, row)| (split_number(found).1, row)))
}

/// Return the part of `row` with the versions up to block `number`.
fn without_later(mut row: &[u8], first: u64, number: u64) -> Result<&[u8], StateError> {
    loop {
        let (since, _, older) = split(row).ok_or_else(corrupt)?;
        if first + since <= number {
            return Ok(row);
        }
        row = older;
    }
}

/// Split `row` after its newest version into: blocks since the row's oldest version, value, older versions.
fn split(row: &[u8]) -> Option<(u64, &[u8], &[u8])> {
    let (mut since, mut shift, mut rest) = (0, 0, row);
    loop {
        let (byte, after) = rest.split_first()?;
        since |= u64::from(byte & 0x7f).checked_shl(shift)?;
        (shift, rest) = (shift + 7, after);
        if byte & 0x80 == 0 {
            break;
        }
    }
    let (length, rest) = rest.split_first()?;
    let (value, older) = rest.split_at_checked(usize::from(*length))?;
    Some((since, value, older))
}

fn corrupt() -> StateError {
    StateError::Corrupt("row of versions".into())
}

/// Row to which versions are added.
#[derive(Default)]
struct GrowingRow {
    first: u64,
    old: Vec<u8>,
    /// New versions, oldest first.
    new: Vec<u8>,
    begins: Vec<usize>,
}

impl GrowingRow {
    /// Return the last row under `key`, or a new one that begins with block `number`.
    fn last(txn: &ReadTxn<'_>, table: Table, key: &[u8], number: u64) -> Result<Self, StateError> {
        let found = row_at(txn, table, key, LATEST)?;
        let (first, old) = found.map_or((number, Vec::new()), |(first, row)| (first, row.to_vec()));
        Ok(Self { first, old, ..Self::default() })
    }

    fn length(&self) -> usize {
        self.old.len() + self.new.len()
    }

    fn push(&mut self, number: u64, value: &[u8]) {
        self.begins.push(self.new.len());
        let mut since = number - self.first;
        while since >= 0x80 {
            self.new.push(since as u8 | 0x80);
            since >>= 7;
        }
        self.new.extend([since as u8, value.len() as u8]);
        self.new.extend_from_slice(value);
    }

    fn encoded(&self) -> Vec<u8> {
        let mut encoded = Vec::with_capacity(self.length());
        let mut end = self.new.len();
        for begin in self.begins.iter().rev() {
            encoded.extend_from_slice(&self.new[*begin..end]);
            end = *begin;
        }
        encoded.extend_from_slice(&self.old);
        encoded
    }
}
