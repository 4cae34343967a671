//! Errors of the engine. `bindings/errors.rs` gives each its Python exception.

use std::fmt;

use alloy_primitives::B256;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    InvalidGenesis(String),
    #[error("{0}")]
    InvalidBlock(Box<InvalidBlock>),
    #[error("{message}")]
    InvalidTransaction { kind: &'static str, message: String },
    #[error(transparent)]
    State(#[from] crate::state::StateError),
    #[error(transparent)]
    CorruptRow(#[from] crate::chain::rows::RowError),
    #[error("{0}")]
    Internal(String),
}

impl Error {
    /// Return an error that no input should be able to cause.
    pub fn internal(reason: impl fmt::Display) -> Self {
        Self::Internal(reason.to_string())
    }
}

impl From<InvalidBlock> for Error {
    fn from(invalid: InvalidBlock) -> Self {
        Self::InvalidBlock(Box::new(invalid))
    }
}

/// Violation of a rule by a block that is not named yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleViolation {
    pub rule: Rule,
    pub expected: String,
    pub actual: String,
}

impl RuleViolation {
    pub fn new(rule: Rule, expected: impl fmt::Display, actual: impl fmt::Display) -> Self {
        Self { rule, expected: expected.to_string(), actual: actual.to_string() }
    }

    /// Return the violation with the block that breaks the rule.
    pub fn in_block(self, number: Option<u64>, hash: Option<B256>) -> InvalidBlock {
        InvalidBlock { number, hash, violation: self }
    }
}

/// Block and the rule that it breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidBlock {
    pub number: Option<u64>,
    pub hash: Option<B256>,
    pub violation: RuleViolation,
}

impl fmt::Display for InvalidBlock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("block")?;
        if let Some(number) = self.number {
            write!(formatter, " {number}")?;
        }
        if let Some(hash) = self.hash {
            write!(formatter, " ({hash})")?;
        }
        let RuleViolation { rule, expected, actual } = &self.violation;
        write!(formatter, ": {}: expected {expected}, got {actual}", rule.name())
    }
}

/// Refuse with `rule` unless the actual value is the expected one.
pub fn require_equal<T: PartialEq + fmt::Display>(
    rule: Rule,
    expected: T,
    actual: T,
) -> Result<(), RuleViolation> {
    if expected == actual {
        return Ok(());
    }
    Err(RuleViolation::new(rule, expected, actual))
}

macro_rules! rules {
    ($($variant:ident => $name:literal,)*) => {
        /// Consensus rules, each with a stable name for callers.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Rule { $($variant,)* }

        impl Rule {
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

rules! {
    Rlp => "rlp",
    BlockHash => "block_hash",
    Json => "json",
    BlockSize => "block_size",
    TransactionSignature => "transaction_signature",
    TransactionType => "transaction_type",
    ParentHash => "parent_hash",
    Number => "number",
    Timestamp => "timestamp",
    ExtraData => "extra_data",
    GasLimit => "gas_limit",
    GasUsedAboveLimit => "gas_used_above_limit",
    BaseFee => "base_fee",
    Difficulty => "difficulty",
    Nonce => "nonce",
    OmmersHash => "ommers_hash",
    OmmerCount => "ommer_count",
    OmmerDuplicate => "ommer_duplicate",
    OmmerAncestor => "ommer_ancestor",
    OmmerGeneration => "ommer_generation",
    OmmerHeader => "ommer_header",
    TransactionsRoot => "transactions_root",
    WithdrawalsRoot => "withdrawals_root",
    WithdrawalsPresence => "withdrawals_presence",
    BlobGasUsed => "blob_gas_used",
    ExcessBlobGas => "excess_blob_gas",
    ParentBeaconBlockRoot => "parent_beacon_block_root",
    RequestsHash => "requests_hash",
    BlockAccessList => "block_access_list",
    BlockAccessListHash => "block_access_list_hash",
    BlockAccessListSize => "block_access_list_size",
    SlotNumber => "slot_number",
    DaoExtraData => "dao_extra_data",
    Transaction => "transaction",
    GasUsed => "gas_used",
    ReceiptsRoot => "receipts_root",
    LogsBloom => "logs_bloom",
    StateRoot => "state_root",
}
