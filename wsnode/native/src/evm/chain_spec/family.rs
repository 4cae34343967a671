//! Encodings and header rules of a chain that is not Ethereum: the member `wsnode` of a genesis file's `config`.

use alloy_primitives::B256;
use serde::Deserialize;

use crate::chain::rows::transaction::system::{DEPOSIT, INTERNAL, SUBMIT_RETRYABLE, UNSIGNED};

/// Chains that share the encodings of transactions and receipts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    #[default]
    Ethereum,
    /// Ethereum's encodings, and state sync transactions.
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

    /// Whether its blocks have system transactions of a type.
    pub fn has_system_type(self, kind: u8) -> bool {
        let kinds: &[u8] = match self {
            Self::Ethereum => &[],
            Self::Polygon => &[0x7f],
            Self::OpStack => &[DEPOSIT],
            Self::Arbitrum => &[0x64, UNSIGNED, 0x66, 0x68, SUBMIT_RETRYABLE, INTERNAL],
        };
        kinds.contains(&kind)
    }

    /// The header rules of its chains that have none of their own.
    fn header_rules(self) -> HeaderRules {
        match self {
            Self::Ethereum | Self::Polygon => HeaderRules::default(),
            Self::OpStack => HeaderRules {
                extra_data: ExtraData::Optimism,
                base_fee: BaseFee::Optimism,
                gas_limit: GasLimit::Unchecked,
                // Some of its chains make several blocks a second.
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

/// What a chain says of itself beyond geth's members.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Description {
    pub family: Family,
    header: Option<HeaderRules>,
    /// Whether its state is one of Arbitrum, though its blocks may be Ethereum's: ArbOS runs some of its accounts.
    pub arbos: bool,
    /// Hash of a genesis block of which nothing else is known.
    pub genesis_hash: Option<B256>,
}

impl Description {
    /// What chains of the OP stack have in common.
    pub fn op_stack() -> Self {
        Self { family: Family::OpStack, ..Self::default() }
    }

    pub fn header_rules(&self) -> HeaderRules {
        self.header.unwrap_or_else(|| self.family.header_rules())
    }
}

/// Rules of a header; those of Ethereum where a chain has none of its own.
///
/// A header's hash commits to every member, and a follower begins at a trusted hash. So a rule may be left unchecked
/// where a chain changes it without notice.
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

/// Members that say who made a block: difficulty and nonce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Seal {
    /// Work before the terminal total difficulty, and a difficulty and a nonce of 0 after it.
    #[default]
    Ethereum,
    /// Any difficulty and nonce, and no ommers. The opcode PREVRANDAO gives the difficulty.
    Authority,
    /// The same with a difficulty of 1; the nonce counts the messages read from L1.
    Arbitrum,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ExtraData {
    /// At most 32 bytes.
    #[default]
    Ethereum,
    /// Nothing, or what decides the base fee of the next block (specs.optimism.io, Holocene and Jovian).
    Optimism,
    /// The root of the messages to L1.
    Arbitrum,
    Unchecked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BaseFee {
    #[default]
    Ethereum,
    /// By the parent's extra data from Holocene on, and unchecked before.
    Optimism,
    Unchecked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum GasLimit {
    /// Less than 1/1024 from the parent's, at least 5,000.
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

/// Which of the members that forks add are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Members {
    /// Those of the forks that are active.
    #[default]
    Ethereum,
    /// Any; RLP leaves out none before another.
    Unchecked,
}

/// What the withdrawals root of a header is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WithdrawalsRoot {
    /// The withdrawals of the body.
    #[default]
    Ethereum,
    /// The storage of a contract, from the fork on that adds requests; then the body has no withdrawals.
    Storage,
}
