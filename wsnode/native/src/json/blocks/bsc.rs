//! Member `milliTimestamp` of BNB Smart Chain's blocks (BEP-520).
//!
//! It is the timestamp in seconds with the milliseconds that the header has in its mix hash since Lorentz.

use alloy_primitives::B256;

use crate::chain::rows::HeaderFields;
use crate::json::Writer;

/// Length of the extra data that every producer writes: 32 bytes of its choice, and 65 of its seal.
const SEALED_LENGTH: usize = 97;

/// Write the member with a comma before it, or nothing for a block of another chain.
pub fn write_milli_timestamp(text: &mut Writer, fields: &HeaderFields<'_>) {
    if let Some(time) = milli_timestamp(fields) {
        text.fixed(b",\"milliTimestamp\":\"0x");
        text.quantity(time);
        text.fixed(b"\"");
    }
}

/// Return the time of a block of BNB Smart Chain in milliseconds since 1970, or None for another chain's
/// block.
///
/// Headers do not name their chain. This chain alone has a difficulty and a seal beside a parent beacon block
/// root of zero. On other chains a block with that member is one of proof of stake, of difficulty 0.
fn milli_timestamp(fields: &HeaderFields<'_>) -> Option<u64> {
    let is_sealed = !fields.difficulty.is_empty() && fields.extra_data.len() >= SEALED_LENGTH;
    if !is_sealed || fields.parent_beacon_block_root != Some(&B256::ZERO) {
        return None;
    }
    let (zeros, milliseconds) = fields.mix_hash.0.split_last_chunk::<8>()?;
    let milliseconds = u64::from_be_bytes(*milliseconds);
    let is_time = milliseconds < 1000 && zeros.iter().all(|byte| *byte == 0);
    is_time.then(|| fields.timestamp.saturating_mul(1000).saturating_add(milliseconds))
}
