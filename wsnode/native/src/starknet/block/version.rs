//! Protocol versions, and the block hash formula of each.

use super::error::BlockError;

/// Protocol version, such as `0.13.1.1`, as four numbers; absent parts are zero.
///
/// All four are zero in the first blocks, since these name no version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProtocolVersion([u32; 4]);

/// First version whose transaction commitment covers the signatures of all kinds; before it, of INVOKE only.
pub const ALL_SIGNATURES: ProtocolVersion = ProtocolVersion([0, 11, 1, 0]);
/// First version with Poseidon hashes, and with receipts and the state diff in the block hash.
pub const POSEIDON: ProtocolVersion = ProtocolVersion([0, 13, 2, 0]);
/// First version with the price of L2 gas in the block hash; before it, an empty signature is hashed as one zero.
pub const L2_GAS: ProtocolVersion = ProtocolVersion([0, 13, 4, 0]);

/// First block of the main network with the hash formula of version 0.7.
const MAINNET_0_7: u64 = 833;

impl ProtocolVersion {
    /// Return the version of a block's `starknet_version`; refuse a text other than up to four numbers and dots.
    pub fn parse(text: &str) -> Result<Self, BlockError> {
        let wrong =
            || BlockError::malformed("starknet_version", format!("no version of numbers and dots: {text:?}"));
        let mut parts = [0; 4];
        if text.is_empty() {
            return Ok(Self(parts));
        }
        for (index, part) in text.split('.').enumerate() {
            let is_number =
                !part.is_empty() && part.len() < 6 && part.bytes().all(|byte| byte.is_ascii_digit());
            let place = parts.get_mut(index).filter(|_| is_number).ok_or_else(wrong)?;
            *place = part.parse().map_err(|_| wrong())?;
        }
        Ok(Self(parts))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashFormula {
    /// Pedersen over transactions, without sequencer, time and events: blocks of the main network before 0.7.
    Genesis,
    /// Pedersen over transactions and events.
    Pedersen,
    /// Poseidon, with receipts and the state diff.
    Poseidon,
    /// Poseidon, with receipts, the state diff and the price of L2 gas.
    PoseidonWithL2Gas,
}

impl HashFormula {
    pub fn of(version: ProtocolVersion, number: u64, is_mainnet: bool) -> Self {
        if version >= L2_GAS {
            Self::PoseidonWithL2Gas
        } else if version >= POSEIDON {
            Self::Poseidon
        } else if is_mainnet && number < MAINNET_0_7 {
            Self::Genesis
        } else {
            Self::Pedersen
        }
    }

    /// Return the first protocol version with the formula; it names the formula.
    pub fn name(self) -> &'static str {
        match self {
            Self::Genesis => "0.0.0",
            Self::Pedersen => "0.7.0",
            Self::Poseidon => "0.13.2",
            Self::PoseidonWithL2Gas => "0.13.4",
        }
    }

    /// Return whether the hash covers receipts and the state diff.
    pub fn covers_receipts(self) -> bool {
        matches!(self, Self::Poseidon | Self::PoseidonWithL2Gas)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        let versions = ["", "0.9.1", "0.13.1", "0.13.1.1", "0.13.2", "0.13.10"].map(ProtocolVersion::parse);
        assert!(versions.map(Result::unwrap).is_sorted_by(|left, right| left < right));
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for text in ["0.13.", ".1", "0.13.1.1.1", "0.x", "-1", "0.123456", " 0.13.1"] {
            assert_eq!(ProtocolVersion::parse(text).unwrap_err().member(), "starknet_version", "{text}");
        }
    }
}
