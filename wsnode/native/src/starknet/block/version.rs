//! Protocol versions, and which formula each of them hashes its blocks by.

use super::error::BlockError;

/// `0.13.1.1` as numbers; a part that is not there is zero. No version at all is that of the first blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProtocolVersion([u32; 4]);

/// Signatures of all but INVOKE count in the transaction commitment.
pub const ALL_SIGNATURES: ProtocolVersion = ProtocolVersion([0, 11, 1, 0]);
/// Poseidon, receipts and the state diff.
pub const POSEIDON: ProtocolVersion = ProtocolVersion([0, 13, 2, 0]);
/// The price of L2 gas, and empty signatures as they are.
pub const L2_GAS: ProtocolVersion = ProtocolVersion([0, 13, 4, 0]);

/// The main network's first block of version 0.7.
const MAINNET_0_7: u64 = 833;

impl ProtocolVersion {
    /// The version that a block names.
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

/// How the hash of a block is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashFormula {
    /// The main network's blocks before 0.7: transactions without sequencer, time or events.
    Genesis,
    /// Pedersen over transactions and events.
    Pedersen,
    /// Poseidon, with receipts and the state diff.
    Poseidon,
    /// The same with the price of L2 gas.
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

    /// The first protocol version of the formula.
    pub fn name(self) -> &'static str {
        match self {
            Self::Genesis => "0.0.0",
            Self::Pedersen => "0.7.0",
            Self::Poseidon => "0.13.2",
            Self::PoseidonWithL2Gas => "0.13.4",
        }
    }

    /// Whether the hash covers receipts and the state diff.
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
