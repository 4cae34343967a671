//! Encodings and header rules of a chain that is not Ethereum: the member `wsnode` of a genesis file's
//! `config`.

use alloy_primitives::B256;
use serde::Deserialize;

use crate::chain::rows::transaction::system::{DEPOSIT, INTERNAL, SUBMIT_RETRYABLE, UNSIGNED};

/// Family of chains with the same encodings of transactions and receipts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    #[default]
    Ethereum,
    /// Ethereum's encodings, with state sync transactions.
    Polygon,
    OpStack,
    Arbitrum,
}

impl Family {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ethereum => "ethereum",
            Self::Polygon => "polygon",
            Self::OpStack => "op-stack",
            Self::Arbitrum => "arbitrum",
        }
    }

    pub fn of_name(name: &str) -> Option<Self> {
        let all = [Self::Ethereum, Self::Polygon, Self::OpStack, Self::Arbitrum];
        all.into_iter().find(|family| family.name() == name)
    }

    /// Return whether the family's blocks have system transactions of type `kind`.
    pub fn has_system_type(self, kind: u8) -> bool {
        let kinds: &[u8] = match self {
            Self::Ethereum => &[],
            Self::Polygon => &[0x7f],
            Self::OpStack => &[DEPOSIT],
            Self::Arbitrum => &[0x64, UNSIGNED, 0x66, 0x68, SUBMIT_RETRYABLE, INTERNAL],
        };
        kinds.contains(&kind)
    }

    /// Return the header rules of the family's chains without rules of their own.
    fn header_rules(self) -> HeaderRules {
        match self {
            Self::Ethereum | Self::Polygon => HeaderRules::default(),
            Self::OpStack => HeaderRules {
                extra_data: ExtraData::Optimism,
                base_fee: BaseFee::Optimism,
                gas_limit: GasLimit::Unchecked,
                // Some OP stack chains make several blocks a second, with equal timestamps.
                time: TimestampRule::LaterOrEqual,
                blob_gas: BlobGas::Unchecked,
                members: Members::Unchecked,
                withdrawals_root: WithdrawalsRoot::Storage,
                ..HeaderRules::default()
            },
            Self::Arbitrum => HeaderRules {
                seal: Seal::Arbitrum,
                extra_data: ExtraData::Arbitrum,
                base_fee: BaseFee::Unchecked,
                gas_limit: GasLimit::Unchecked,
                time: TimestampRule::LaterOrEqual,
                blob_gas: BlobGas::Unchecked,
                members: Members::Unchecked,
                ..HeaderRules::default()
            },
        }
    }
}

/// Description of a chain beyond geth's members.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Description {
    pub family: Family,
    header: Option<HeaderRules>,
    /// True if the chain's state is Arbitrum's, where ArbOS executes some accounts. Its blocks may still be
    /// Ethereum's.
    pub arbos: bool,
    /// Hash of the genesis block, if nothing else is known of the block.
    pub genesis_hash: Option<B256>,
}

impl Description {
    pub fn op_stack() -> Self {
        Self { family: Family::OpStack, ..Self::default() }
    }

    pub fn header_rules(&self) -> HeaderRules {
        self.header.unwrap_or_else(|| self.family.header_rules())
    }
}

/// Rules of a header, by default Ethereum's.
///
/// A header's hash commits to every member, and a follower begins at a trusted hash. So a rule may be
/// unchecked if a chain changes it without notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HeaderRules {
    pub seal: Seal,
    pub extra_data: ExtraData,
    pub base_fee: BaseFee,
    pub gas_limit: GasLimit,
    pub time: TimestampRule,
    pub blob_gas: BlobGas,
    pub members: Members,
    pub withdrawals_root: WithdrawalsRoot,
}

/// Rule of a header's difficulty and nonce, and of ommers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Seal {
    /// Proof of work up to the terminal total difficulty; difficulty and nonce 0 after it.
    #[default]
    Ethereum,
    /// Any difficulty and nonce, and no ommers. The opcode PREVRANDAO gives the difficulty.
    Authority,
    /// Difficulty 1, any nonce, and no ommers. The nonce counts the messages read from L1.
    Arbitrum,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ExtraData {
    /// At most 32 bytes.
    #[default]
    Ethereum,
    /// Empty, or the parameters of the next block's base fee (specs.optimism.io, Holocene and Jovian).
    Optimism,
    /// Root of the messages to L1.
    Arbitrum,
    Unchecked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BaseFee {
    #[default]
    Ethereum,
    /// Computed from the parent's extra data from Holocene on, and unchecked before.
    Optimism,
    Unchecked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum GasLimit {
    /// Less than 1/1024 from the parent's, and at least 5,000.
    #[default]
    Ethereum,
    Unchecked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TimestampRule {
    /// Later than the parent's.
    #[default]
    Ethereum,
    LaterOrEqual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BlobGas {
    #[default]
    Ethereum,
    Unchecked,
}

/// Presence of the header members that forks add.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Members {
    /// Members of the active forks, and no others.
    #[default]
    Ethereum,
    /// Any members that RLP can encode: none is absent before a present one.
    Unchecked,
}

/// List or trie whose root is the header's withdrawals root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WithdrawalsRoot {
    /// Withdrawals of the body.
    #[default]
    Ethereum,
    /// Storage of a contract, since blocks have requests. The body then has no withdrawals.
    Storage,
}
