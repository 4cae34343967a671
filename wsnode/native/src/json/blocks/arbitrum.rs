//! Members of Arbitrum's blocks that its headers hold in place of other members.
//!
//! Layouts: Offchain Labs' go-ethereum, core/types/arb_types.go (HeaderInfo, and the data of a submitted
//! ticket).

use std::borrow::Cow;

use alloy_primitives::B256;

use crate::chain::rows::transaction::system::{SystemFields, INTERNAL, SUBMIT_RETRYABLE};
use crate::chain::rows::{BodyRow, HeaderFields, RowError};
use crate::json::Writer;

/// Selector of `submitRetryable`.
const SELECTOR: [u8; 4] = [0xc9, 0xf9, 0x5d, 0x32];
/// Index of the byte in the mix hash whose lowest bit is set if tips are paid.
const FLAGS: usize = 25;

/// Values in an Arbitrum header about L1 and fees.
#[derive(Debug, Clone, Copy)]
pub struct L1Position<'a> {
    send_root: &'a [u8],
    send_count: u64,
    block_number: u64,
    /// True if transactions pay more than the base fee.
    pub pays_tips: bool,
}

impl<'a> L1Position<'a> {
    /// Return the values in a block's header, or None for a block of another family.
    pub fn of_block(fields: &HeaderFields<'a>, body: &BodyRow<'_>) -> Result<Option<Self>, RowError> {
        let first = body.transaction(0)?;
        let is_arbitrum = first.is_some_and(|first| first.envelope.first() == Some(&INTERNAL));
        Ok(is_arbitrum.then(|| Self::read(fields)))
    }

    fn read(fields: &HeaderFields<'a>) -> Self {
        let words = fields.mix_hash.0.as_chunks::<8>().0;
        Self {
            send_root: fields.extra_data,
            send_count: u64::from_be_bytes(words[0]),
            block_number: u64::from_be_bytes(words[1]),
            pays_tips: fields.mix_hash[FLAGS] & 1 == 1,
        }
    }

    /// Write the members of a block, each with a comma before it.
    pub fn write_block_members(&self, text: &mut Writer) {
        self.write_receipt_members(text);
        text.fixed(b",\"sendCount\":\"0x");
        text.quantity(self.send_count);
        text.fixed(b"\",\"sendRoot\":\"0x");
        text.bytes(self.send_root);
        text.fixed(b"\"");
    }

    /// Write the member of a receipt, with a comma before it.
    pub fn write_receipt_members(&self, text: &mut Writer) {
        text.fixed(b",\"l1BlockNumber\":\"0x");
        text.quantity(self.block_number);
        text.fixed(b"\"");
    }
}

/// Return the member `input` of a system transaction. For a submitted ticket it is the call that would submit
/// it.
pub fn input<'a>(fields: &SystemFields<'a>) -> Cow<'a, [u8]> {
    match fields.row.kind {
        SUBMIT_RETRYABLE => Cow::Owned(submission(fields)),
        _ => Cow::Borrowed(fields.value("input").unwrap_or_default()),
    }
}

fn submission(fields: &SystemFields<'_>) -> Vec<u8> {
    const WORDS: [&str; 10] = [
        "requestId",
        "l1BaseFee",
        "depositValue",
        "retryValue",
        "maxFeePerGas",
        "gas",
        "maxSubmissionFee",
        "refundTo",
        "beneficiary",
        "retryTo",
    ];
    let data = fields.value("retryData").unwrap_or_default();
    let mut call = SELECTOR.to_vec();
    let members = WORDS.map(|name| B256::left_padding_from(fields.value(name).unwrap_or_default()));
    members.iter().for_each(|word| call.extend_from_slice(word.as_slice()));
    // The offset of the data and its length come before the data.
    call.extend_from_slice(&word(32 * (WORDS.len() + 1)));
    call.extend_from_slice(&word(data.len()));
    call.extend_from_slice(data);
    call.resize(call.len() + data.len().wrapping_neg() % 32, 0);
    call
}

/// Return a number as a word of a call's data.
fn word(number: usize) -> [u8; 32] {
    B256::left_padding_from(&(number as u64).to_be_bytes()).0
}
