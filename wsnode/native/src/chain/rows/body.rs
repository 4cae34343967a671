//! Body row: transactions with their hashes and senders, ommers, withdrawals.
//!
//! ```text
//! 0 version | 1 transactions n (4) | 5 ommers (1) | 6 withdrawals present (1) | 7 start of the ommers (4)
//! | 11 hashes (32 n) | senders (20 n) | ends of the transactions (4 n) | transactions
//! | per ommer: hash (32), length (4), RLP | withdrawals RLP
//! | in version 2: per deposit: nonce (8), version (8) | Fjord (1) | deposits d (4)
//! ```
//! A transaction is kept as its typed envelope. Ends count from the first transaction's first byte, the start of
//! the ommers from the row's. Version 2 is for blocks of the OP stack. It adds the receipt members that the JSON of
//! deposits shows, and a flag for Fjord's fees.

use alloy_consensus::{Header, TxEnvelope};
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B256};
use alloy_rlp::{Decodable, Encodable};

use super::read::{address_at, byte, check_version, hash_at, range, slice, u32_at, u64_at};
use super::receipts::{DepositReceipt, DEPOSIT};
use super::write::{push_u32, set_u32};
use super::{RowError, StoredTransaction, Transaction};

const VERSION: u8 = 1;
const WITH_DEPOSITS: u8 = 2;
const HASHES: usize = 11;
const OMMERS_START: usize = 7;

/// Return the row of a block's body; `senders` has one address for each of `transactions`.
pub fn encode_body(
    transactions: &[TxEnvelope],
    senders: &[Address],
    ommers: &[Header],
    withdrawals: Option<&[Withdrawal]>,
) -> Vec<u8> {
    encode_body_of(transactions, senders, ommers, withdrawals)
}

/// Return the body row of transactions of any kind, including unsigned ones.
pub fn encode_body_of<T: StoredTransaction>(
    transactions: &[T],
    senders: &[Address],
    ommers: &[Header],
    withdrawals: Option<&[Withdrawal]>,
) -> Vec<u8> {
    debug_assert_eq!(transactions.len(), senders.len());
    let mut row = Vec::with_capacity(HASHES + 256 * transactions.len() + 640 * ommers.len());
    row.push(VERSION);
    push_u32(&mut row, transactions.len());
    row.push(ommers.len() as u8);
    row.push(withdrawals.is_some() as u8);
    push_u32(&mut row, 0);
    transactions.iter().for_each(|transaction| row.extend_from_slice(transaction.hash().as_slice()));
    senders.iter().for_each(|sender| row.extend_from_slice(sender.as_slice()));
    push_transactions(&mut row, transactions);
    let ommers_start = row.len();
    set_u32(&mut row, OMMERS_START, ommers_start);
    ommers.iter().for_each(|ommer| push_ommer(&mut row, ommer));
    if let Some(withdrawals) = withdrawals {
        alloy_rlp::encode_list(withdrawals, &mut row);
    }
    row
}

/// Return a body row as that of a block of the OP stack; its deposits are its first transactions.
pub fn with_deposits(body_row: &[u8], deposits: &[DepositReceipt], is_fjord: bool) -> Vec<u8> {
    let plain = without_deposits(body_row).map_or(body_row, |(row, _)| row);
    let mut row = plain.to_vec();
    row[0] = WITH_DEPOSITS;
    for deposit in deposits {
        row.extend_from_slice(&deposit.nonce.to_le_bytes());
        row.extend_from_slice(&deposit.version.to_le_bytes());
    }
    row.push(is_fjord as u8);
    push_u32(&mut row, deposits.len());
    row
}

fn push_transactions<T: StoredTransaction>(row: &mut Vec<u8>, transactions: &[T]) {
    let ends = row.len();
    row.resize(ends + 4 * transactions.len(), 0);
    let start = row.len();
    for (index, transaction) in transactions.iter().enumerate() {
        transaction.encode(row);
        let end = row.len() - start;
        set_u32(row, ends + 4 * index, end);
    }
}

fn push_ommer(row: &mut Vec<u8>, ommer: &Header) {
    row.extend_from_slice(ommer.hash_slow().as_slice());
    push_u32(row, ommer.length());
    ommer.encode(row);
}

#[derive(Debug, Clone, Copy)]
pub struct TransactionRow<'a> {
    pub hash: &'a B256,
    pub sender: &'a Address,
    /// Typed envelope; for a legacy transaction its RLP list.
    pub envelope: &'a [u8],
    /// Members that only the receipt of a deposit has; None for other transactions.
    pub deposit: Option<DepositReceipt>,
}

#[derive(Debug, Clone, Copy)]
pub struct OmmerRow<'a> {
    pub hash: &'a B256,
    pub rlp: &'a [u8],
}

/// Body row, read in place.
#[derive(Debug, Clone, Copy)]
pub struct BodyRow<'a> {
    row: &'a [u8],
    transactions: usize,
    ommers: usize,
    has_withdrawals: bool,
    ommers_start: usize,
    /// Receipt members of the deposits, sixteen bytes each.
    deposits: &'a [u8],
    is_fjord: bool,
}

impl<'a> BodyRow<'a> {
    pub fn new(row: &'a [u8]) -> Result<Self, RowError> {
        let (row, (deposits, is_fjord)) = without_deposits(row)?;
        let transactions = u32_at(row, 1)?;
        let body = Self {
            row,
            transactions,
            ommers: byte(row, 5)? as usize,
            has_withdrawals: byte(row, 6)? != 0,
            ommers_start: u32_at(row, OMMERS_START)?,
            deposits,
            is_fjord,
        };
        range(row, body.first_transaction(), body.ommers_start)?;
        Ok(body)
    }

    pub fn transaction_count(&self) -> usize {
        self.transactions
    }

    /// Return true for a block of the OP stack with Fjord's fees for data on L1.
    pub fn is_fjord(&self) -> bool {
        self.is_fjord
    }

    /// Return the receipt members of the deposit at `index`; None for other transactions.
    #[inline]
    fn deposit(&self, index: usize) -> Result<Option<DepositReceipt>, RowError> {
        let start = DEPOSIT * index;
        if start >= self.deposits.len() {
            return Ok(None);
        }
        Ok(Some(DepositReceipt {
            nonce: u64_at(self.deposits, start)?,
            version: u64_at(self.deposits, start + 8)?,
        }))
    }

    /// Return the hashes of all transactions, 32 bytes each.
    pub fn transaction_hashes(&self) -> Result<&'a [u8], RowError> {
        slice(self.row, HASHES, 32 * self.transactions)
    }

    /// Return the hash of the transaction at `index`; None beyond the last.
    #[inline]
    pub fn transaction_hash(&self, index: usize) -> Result<Option<&'a B256>, RowError> {
        if index >= self.transactions {
            return Ok(None);
        }
        hash_at(self.row, HASHES + 32 * index).map(Some)
    }

    /// Return the transaction at `index`; None beyond the last.
    #[inline]
    pub fn transaction(&self, index: usize) -> Result<Option<TransactionRow<'a>>, RowError> {
        if index >= self.transactions {
            return Ok(None);
        }
        let start = if index == 0 { 0 } else { self.end(index - 1)? };
        let first = self.first_transaction();
        let envelope = range(self.row, first + start, first + self.end(index)?)?;
        let hash = hash_at(self.row, HASHES + 32 * index)?;
        let sender = address_at(self.row, HASHES + 32 * self.transactions + 20 * index)?;
        Ok(Some(TransactionRow { hash, sender, envelope, deposit: self.deposit(index)? }))
    }

    pub fn transaction_rows(self) -> impl Iterator<Item = Result<TransactionRow<'a>, RowError>> {
        (0..self.transactions).map_while(move |index| self.transaction(index).transpose())
    }

    /// Return the ommer at `index`; None beyond the last.
    pub fn ommer(&self, index: usize) -> Result<Option<OmmerRow<'a>>, RowError> {
        self.ommer_rows().nth(index).transpose()
    }

    pub fn ommer_rows(self) -> impl Iterator<Item = Result<OmmerRow<'a>, RowError>> {
        let mut position = self.ommers_start;
        (0..self.ommers).map(move |_| {
            let ommer = self.ommer_at(position)?;
            position += 36 + ommer.rlp.len();
            Ok(ommer)
        })
    }

    /// Return the RLP list of the withdrawals; None in a block before withdrawals.
    pub fn withdrawals_rlp(&self) -> Result<Option<&'a [u8]>, RowError> {
        if !self.has_withdrawals {
            return Ok(None);
        }
        let mut start = self.ommers_start;
        for ommer in self.ommer_rows() {
            start += 36 + ommer?.rlp.len();
        }
        range(self.row, start, self.row.len()).map(Some)
    }

    pub fn transactions(&self) -> Result<Vec<Transaction>, RowError> {
        self.transaction_rows().map(|row| Transaction::decode(row?.envelope)).collect()
    }

    pub fn senders(&self) -> Result<Vec<Address>, RowError> {
        self.transaction_rows().map(|row| row.map(|transaction| *transaction.sender)).collect()
    }

    pub fn ommers(&self) -> Result<Vec<Header>, RowError> {
        let decode = |ommer: OmmerRow<'a>| {
            Header::decode(&mut &*ommer.rlp).map_err(|_| RowError::Corrupt("ommer RLP"))
        };
        self.ommer_rows().map(|ommer| ommer.and_then(decode)).collect()
    }

    pub fn withdrawals(&self) -> Result<Option<Vec<Withdrawal>>, RowError> {
        let decode = |mut rlp| Vec::decode(&mut rlp).map_err(|_| RowError::Corrupt("withdrawals RLP"));
        self.withdrawals_rlp()?.map(decode).transpose()
    }

    fn ommer_at(&self, position: usize) -> Result<OmmerRow<'a>, RowError> {
        let length = u32_at(self.row, position + 32)?;
        Ok(OmmerRow { hash: hash_at(self.row, position)?, rlp: slice(self.row, position + 36, length)? })
    }

    #[inline]
    fn end(&self, index: usize) -> Result<usize, RowError> {
        u32_at(self.row, HASHES + 52 * self.transactions + 4 * index)
    }

    #[inline]
    fn first_transaction(&self) -> usize {
        HASHES + 56 * self.transactions
    }
}

/// Additions of version 2: receipt members of the deposits, sixteen bytes each, and true if fees are those of
/// Fjord.
type Added<'a> = (&'a [u8], bool);

/// Split a row into its part of version 1 and the additions of version 2.
fn without_deposits(row: &[u8]) -> Result<(&[u8], Added<'_>), RowError> {
    if byte(row, 0)? != WITH_DEPOSITS {
        check_version(row, "body", VERSION)?;
        return Ok((row, (&[], false)));
    }
    let corrupt = RowError::Corrupt("deposits");
    let end = row.len().checked_sub(5).ok_or(corrupt)?;
    let length = u32_at(row, end + 1)?.checked_mul(DEPOSIT).ok_or(corrupt)?;
    let start = end.checked_sub(length).ok_or(corrupt)?;
    Ok((&row[..start], (&row[start..end], row[end] != 0)))
}
