//! Types of system transactions: their members in the order of RLP, and their senders.

use alloy_primitives::{address, Address};

/// Type of a member's value, as bytes of an RLP string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    Hash,
    Address,
    /// Address, or empty for the creation of a contract.
    Recipient,
    /// Number of at most this many bytes.
    Number(usize),
    Flag,
    Bytes,
}

/// Name of a member in JSON, and the type of its value.
pub type Member = (&'static str, FieldType);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// Member `from`.
    From,
    Fixed(Address),
}

#[derive(Debug)]
pub struct SystemType {
    pub kind: u8,
    pub name: &'static str,
    pub sender: Sender,
    /// Members in the order of the list. An error is a type with members that are not read; its text says why
    /// JSON lacks them.
    pub members: Result<&'static [Member], &'static str>,
    /// Recipient of a type without a member for it.
    pub recipient: Option<Address>,
}

use FieldType::{Bytes, Flag, Hash, Number, Recipient};

const AMOUNT: FieldType = Number(32);
const U64: FieldType = Number(8);
const ADDRESS: FieldType = FieldType::Address;

/// Type of a deposit of the OP stack.
pub const DEPOSIT: u8 = 0x7e;
/// Type of the first transaction in each block of Arbitrum.
pub const INTERNAL: u8 = 0x6a;
/// Type of the transaction by which Arbitrum makes a ticket of a message from L1.
pub const SUBMIT_RETRYABLE: u8 = 0x69;

/// Type of a message from L1 with the nonce of its sender's account on Arbitrum.
pub const UNSIGNED: u8 = 0x65;

const ARBOS: Address = address!("00000000000000000000000000000000000a4b05");
const RETRYABLES: Address = address!("000000000000000000000000000000000000006e");

/// Types of system transactions.
///
/// Sources: op-geth core/types/deposit_tx.go; bor core/types/tx_state_sync.go (PIP-74); Offchain Labs'
/// go-ethereum core/types/arb_types.go, with the names of its internal/ethapi.
pub const TYPES: [SystemType; 9] = [
    SystemType {
        kind: DEPOSIT,
        name: "deposit",
        sender: Sender::From,
        members: Ok(&[
            ("sourceHash", Hash),
            ("from", ADDRESS),
            ("to", Recipient),
            ("mint", AMOUNT),
            ("value", AMOUNT),
            ("gas", U64),
            ("isSystemTx", Flag),
            ("input", Bytes),
        ]),
        recipient: None,
    },
    SystemType {
        kind: 0x7f,
        name: "state sync",
        sender: Sender::Fixed(Address::ZERO),
        members: Err("whose data only debug_getRawBlock gives"),
        recipient: Some(Address::ZERO),
    },
    SystemType {
        kind: 0x64,
        name: "deposit from L1",
        sender: Sender::From,
        members: Ok(&[
            ("chainId", AMOUNT),
            ("requestId", Hash),
            ("from", ADDRESS),
            ("to", ADDRESS),
            ("value", AMOUNT),
        ]),
        recipient: None,
    },
    SystemType {
        kind: UNSIGNED,
        name: "unsigned",
        sender: Sender::From,
        members: Ok(&[
            ("chainId", AMOUNT),
            ("from", ADDRESS),
            ("nonce", U64),
            ("maxFeePerGas", AMOUNT),
            ("gas", U64),
            ("to", Recipient),
            ("value", AMOUNT),
            ("input", Bytes),
        ]),
        recipient: None,
    },
    SystemType {
        kind: 0x66,
        name: "contract",
        sender: Sender::From,
        members: Ok(&[
            ("chainId", AMOUNT),
            ("requestId", Hash),
            ("from", ADDRESS),
            ("maxFeePerGas", AMOUNT),
            ("gas", U64),
            ("to", Recipient),
            ("value", AMOUNT),
            ("input", Bytes),
        ]),
        recipient: None,
    },
    SystemType {
        kind: 0x68,
        name: "retry",
        sender: Sender::From,
        members: Ok(&[
            ("chainId", AMOUNT),
            ("nonce", U64),
            ("from", ADDRESS),
            ("maxFeePerGas", AMOUNT),
            ("gas", U64),
            ("to", Recipient),
            ("value", AMOUNT),
            ("input", Bytes),
            ("ticketId", Hash),
            ("refundTo", ADDRESS),
            ("maxRefund", AMOUNT),
            ("submissionFeeRefund", AMOUNT),
        ]),
        recipient: None,
    },
    SystemType {
        kind: SUBMIT_RETRYABLE,
        name: "submit retryable",
        sender: Sender::From,
        members: Ok(&[
            ("chainId", AMOUNT),
            ("requestId", Hash),
            ("from", ADDRESS),
            ("l1BaseFee", AMOUNT),
            ("depositValue", AMOUNT),
            ("maxFeePerGas", AMOUNT),
            ("gas", U64),
            ("retryTo", Recipient),
            ("retryValue", AMOUNT),
            ("beneficiary", ADDRESS),
            ("maxSubmissionFee", AMOUNT),
            ("refundTo", ADDRESS),
            ("retryData", Bytes),
        ]),
        recipient: Some(RETRYABLES),
    },
    SystemType {
        kind: INTERNAL,
        name: "internal",
        sender: Sender::Fixed(ARBOS),
        members: Ok(&[("chainId", AMOUNT), ("input", Bytes)]),
        recipient: Some(ARBOS),
    },
    // No chain family accepts this type. Its row only gives the reason for refusing it.
    SystemType {
        kind: 0x78,
        name: "classic",
        sender: Sender::Fixed(Address::ZERO),
        members: Err("of a block before Arbitrum's Nitro, whose hash does not follow from its bytes"),
        recipient: None,
    },
];

impl SystemType {
    pub fn of(kind: u8) -> Option<&'static Self> {
        TYPES.iter().find(|row| row.kind == kind)
    }
}

impl FieldType {
    /// Return true if `bytes` are a value of the type, in its shortest form.
    pub fn holds(self, bytes: &[u8]) -> bool {
        match self {
            Hash => bytes.len() == 32,
            Self::Address => bytes.len() == 20,
            Recipient => matches!(bytes.len(), 0 | 20),
            Number(most) => bytes.len() <= most && bytes.first() != Some(&0),
            Flag => matches!(bytes, [] | [1]),
            Bytes => true,
        }
    }
}
