//! Members of a transaction as slices of its envelope.

use crate::chain::rows::rlp::{wide_number, Items};
use crate::chain::rows::RowError;

/// Members of a transaction. A number without its own type is big-endian bytes.
#[derive(Debug, Clone, Copy)]
pub struct Envelope<'a> {
    pub kind: u8,
    /// Chain id, or None in a legacy transaction, where `v` contains it.
    pub chain_id: Option<&'a [u8]>,
    pub nonce: u64,
    pub price: Price<'a>,
    pub gas: u64,
    /// Recipient, or None if the transaction creates a contract.
    pub to: Option<&'a [u8; 20]>,
    pub value: &'a [u8],
    pub input: &'a [u8],
    pub access_list: Option<Items<'a>>,
    pub max_fee_per_blob_gas: Option<&'a [u8]>,
    pub blob_versioned_hashes: Option<Items<'a>>,
    pub authorization_list: Option<Items<'a>>,
    /// `v` of the signature; in a typed transaction, the parity of `y`.
    pub v: &'a [u8],
    pub r: &'a [u8],
    pub s: &'a [u8],
}

/// Gas price of a transaction, in wei per gas as big-endian bytes.
#[derive(Debug, Clone, Copy)]
pub enum Price<'a> {
    Fixed(&'a [u8]),
    Dynamic { max_priority_fee: &'a [u8], max_fee: &'a [u8] },
}

impl Price<'_> {
    /// Return the price that is paid in a block with `base_fee`, in wei per gas.
    pub fn effective(&self, base_fee: Option<u64>) -> Result<u128, RowError> {
        match self {
            Self::Fixed(price) => wide_number(price),
            Self::Dynamic { max_priority_fee, max_fee } => {
                let (tip, cap) = (wide_number(max_priority_fee)?, wide_number(max_fee)?);
                Ok(base_fee.map_or(cap, |base_fee| cap.min(tip.saturating_add(base_fee.into()))))
            }
        }
    }
}

impl<'a> Envelope<'a> {
    /// Return the members of the transaction in `encoded`: an RLP list, or a type byte before one.
    pub fn new(encoded: &'a [u8]) -> Result<Self, RowError> {
        match encoded {
            [0xc0..=0xff, ..] => Self::of_items(0, Items::of_list(encoded)?),
            [kind @ 1..=4, list @ ..] => Self::of_items(*kind, Items::of_list(list)?),
            _ => Err(RowError::Corrupt("transaction type")),
        }
    }

    /// Return the members in the list of a transaction of type `kind`.
    #[inline]
    pub fn of_items(kind: u8, mut items: Items<'a>) -> Result<Self, RowError> {
        Ok(Self {
            kind,
            chain_id: when(kind > 0, || items.string())?,
            nonce: items.u64()?,
            price: price(kind, &mut items)?,
            gas: items.u64()?,
            to: recipient(items.string()?)?,
            value: items.string()?,
            input: items.string()?,
            access_list: when(kind > 0, || items.list())?,
            max_fee_per_blob_gas: when(kind == 3, || items.string())?,
            blob_versioned_hashes: when(kind == 3, || items.list())?,
            authorization_list: when(kind == 4, || items.list())?,
            v: items.string()?,
            r: items.string()?,
            s: items.string()?,
        })
    }

    /// Return the number of blobs, by the length of their hashes.
    pub fn blob_count(&self) -> usize {
        self.blob_versioned_hashes.map_or(0, |hashes| hashes.encoded_length() / 33)
    }
}

#[inline]
fn when<T>(wanted: bool, read: impl FnOnce() -> Result<T, RowError>) -> Result<Option<T>, RowError> {
    if wanted {
        return read().map(Some);
    }
    Ok(None)
}

#[inline]
fn price<'a>(kind: u8, items: &mut Items<'a>) -> Result<Price<'a>, RowError> {
    if kind < 2 {
        return items.string().map(Price::Fixed);
    }
    Ok(Price::Dynamic { max_priority_fee: items.string()?, max_fee: items.string()? })
}

#[inline]
fn recipient(bytes: &[u8]) -> Result<Option<&[u8; 20]>, RowError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    bytes.try_into().map(Some).map_err(|_| RowError::Corrupt("recipient"))
}

pub fn legacy_chain_id(v: &[u8]) -> Result<Option<u128>, RowError> {
    match wide_number(v)? {
        27 | 28 => Ok(None),
        // No signature has such a `v`. A simulated transaction has 0, for which geth's subtraction wraps.
        v @ 0..35 => Ok(Some(u128::from((v as u64).wrapping_sub(35) / 2))),
        v => Ok(Some((v - 35) / 2).filter(|id| *id > 0)),
    }
}
