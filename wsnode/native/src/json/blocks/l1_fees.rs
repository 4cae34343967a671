//! Fees of an OP stack transaction for its data on L1, computed from its block's first deposit.
//!
//! Layouts and formulas: specs.optimism.io (protocol/exec-engine, ecotone, fjord, isthmus, jovian). Nodes
//! send these members in receipts, but no root commits to them, so they are computed here.

use alloy_primitives::U256;

use super::fast_lz::compressed_length;
use crate::chain::rows::transaction::system::{SystemFields, DEPOSIT, L1_ATTRIBUTES};
use crate::chain::rows::{BodyRow, RowError};
use crate::json::Writer;

const BEDROCK: [u8; 4] = [0x01, 0x5d, 0x8e, 0xb9];
const ECOTONE: [u8; 4] = [0x44, 0x0a, 0x5e, 0x20];
const ISTHMUS: [u8; 4] = [0x09, 0x89, 0x99, 0xbe];
const JOVIAN: [u8; 4] = [0x3d, 0xb6, 0xbe, 0x2b];

/// Factors in the estimate of a transaction's compressed size, times a million.
const SIZE_FACTOR: u64 = 836_500;
const SIZE_OFFSET: u64 = 42_585_600;
const MIN_SIZE: u64 = 100_000_000;
const MILLION: u64 = 1_000_000;

/// Values of L1 in the first deposit of a block.
#[derive(Debug, Clone, Copy)]
pub struct L1Terms<'a> {
    base_fee: U256,
    price: L1Price<'a>,
    /// Scalar and constant of the operator fee, if they are not both zero.
    operator: Option<(u64, u64)>,
    footprint_scalar: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
enum L1Price<'a> {
    Bedrock { overhead: U256, scalar: U256 },
    Blobs { base_scalar: &'a [u8], blob_scalar: &'a [u8], blob_base_fee: &'a [u8], is_fjord: bool },
}

impl<'a> L1Terms<'a> {
    /// Return the values in a block, or None for a block of another family or without an L1 attributes
    /// deposit.
    pub fn of_block(body: &BodyRow<'a>) -> Result<Option<Self>, RowError> {
        let Some(first) = body.transaction(0)? else { return Ok(None) };
        let Some(fields) = SystemFields::read(first.envelope)? else { return Ok(None) };
        let is_named = fields.row.kind == DEPOSIT
            && *first.sender == L1_ATTRIBUTES.0
            && fields.value("to").is_some_and(|to| to == L1_ATTRIBUTES.1.as_slice());
        Ok(fields.value("input").filter(|_| is_named).and_then(|data| Self::read(data, body.is_fjord())))
    }

    fn read(data: &'a [u8], is_fjord: bool) -> Option<Self> {
        let selector: [u8; 4] = *data.first_chunk()?;
        if selector == BEDROCK {
            let price = L1Price::Bedrock { overhead: word(data, 196)?, scalar: word(data, 228)? };
            return Some(Self { base_fee: word(data, 68)?, price, operator: None, footprint_scalar: None });
        }
        let is_isthmus = selector == ISTHMUS || selector == JOVIAN;
        if !is_isthmus && selector != ECOTONE {
            return None;
        }
        let price = L1Price::Blobs {
            base_scalar: data.get(4..8)?,
            blob_scalar: data.get(8..12)?,
            blob_base_fee: data.get(68..100)?,
            is_fjord: is_fjord || is_isthmus,
        };
        let operator = match is_isthmus {
            true => Some((number(data.get(164..168)?), number(data.get(168..176)?))),
            false => None,
        };
        let footprint_scalar = match selector == JOVIAN {
            true => Some(number(data.get(176..178)?)),
            false => None,
        };
        let operator = operator.filter(|terms| *terms != (0, 0));
        Some(Self { base_fee: word(data, 36)?, price, operator, footprint_scalar })
    }

    /// Write the members of a signed transaction's receipt, each with a comma before it.
    pub fn write_members(&self, text: &mut Writer, envelope: &[u8]) {
        let size = estimated_size(envelope);
        let (gas_used, fee) = self.price.fee(envelope, size, self.base_fee);
        member(text, "l1GasPrice", self.base_fee);
        member(text, "l1GasUsed", gas_used);
        member(text, "l1Fee", fee);
        self.price.write_members(text);
        if let Some((scalar, constant)) = self.operator {
            member(text, "operatorFeeScalar", U256::from(scalar));
            member(text, "operatorFeeConstant", U256::from(constant));
        }
        if let Some(scalar) = self.footprint_scalar {
            member(text, "daFootprintGasScalar", U256::from(scalar));
            member(text, "blobGasUsed", U256::from(size / MILLION * scalar));
        }
    }
}

impl L1Price<'_> {
    /// Return the gas of a transaction's data on L1, and the fee for it in wei.
    fn fee(&self, envelope: &[u8], size: u64, base_fee: U256) -> (U256, U256) {
        let million = U256::from(MILLION);
        match self {
            Self::Bedrock { overhead, scalar } => {
                let used = data_gas(envelope).wrapping_add(*overhead);
                (used, used.wrapping_mul(base_fee).wrapping_mul(*scalar) / million)
            }
            Self::Blobs { base_scalar, blob_scalar, blob_base_fee, is_fjord } => {
                let for_calldata = U256::from(16).wrapping_mul(wide(base_scalar)).wrapping_mul(base_fee);
                let price = for_calldata.wrapping_add(wide(blob_scalar).wrapping_mul(wide(blob_base_fee)));
                if *is_fjord {
                    let size = U256::from(size);
                    return (size * U256::from(16) / million, size.wrapping_mul(price) / (million * million));
                }
                let used = data_gas(envelope);
                (used, used.wrapping_mul(price) / (U256::from(16) * million))
            }
        }
    }

    fn write_members(&self, text: &mut Writer) {
        match self {
            Self::Bedrock { scalar, .. } => {
                text.fixed(b",\"l1FeeScalar\":\"");
                text.text(&decimal(*scalar));
                text.fixed(b"\"");
            }
            Self::Blobs { base_scalar, blob_scalar, blob_base_fee, .. } => {
                member(text, "l1BlobBaseFee", wide(blob_base_fee));
                member(text, "l1BaseFeeScalar", wide(base_scalar));
                member(text, "l1BlobBaseFeeScalar", wide(blob_scalar));
            }
        }
    }
}

/// Return a scalar, counted in millionths, in decimal digits.
fn decimal(scalar: U256) -> String {
    let (whole, rest) = scalar.div_rem(U256::from(MILLION));
    let digits = format!("{:06}", rest.to::<u64>());
    match digits.trim_end_matches('0') {
        "" => whole.to_string(),
        fraction => format!("{whole}.{fraction}"),
    }
}

/// Return the estimated compressed size of a transaction, in millionths of a byte.
fn estimated_size(envelope: &[u8]) -> u64 {
    (SIZE_FACTOR * compressed_length(envelope)).saturating_sub(SIZE_OFFSET).max(MIN_SIZE)
}

/// Return the gas of bytes as calldata before EIP-7623.
fn data_gas(envelope: &[u8]) -> U256 {
    let zeros = envelope.iter().filter(|byte| **byte == 0).count();
    U256::from(4 * zeros + 16 * (envelope.len() - zeros))
}

fn member(text: &mut Writer, name: &str, number: U256) {
    text.fixed(b",\"");
    text.text(name);
    text.fixed(b"\":\"0x");
    text.big_quantity(&number.to_be_bytes::<32>());
    text.fixed(b"\"");
}

fn word(data: &[u8], at: usize) -> Option<U256> {
    data.get(at..at + 32).map(wide)
}

fn wide(bytes: &[u8]) -> U256 {
    U256::from_be_slice(bytes)
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte))
}
