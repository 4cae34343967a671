//! System transactions: made by a chain's protocol, without a signature.
//!
//! Each type is a list of members, so reading, checking and writing one follows from its row of [`TYPES`]. A
//! transaction is kept as its typed envelope: the type's byte, and the RLP list of its members.

use alloy_primitives::{address, keccak256, Address, B256};
use alloy_rlp::{Encodable, Header};

pub use super::types::{
    FieldType, Member, Sender, SystemType, DEPOSIT, INTERNAL, SUBMIT_RETRYABLE, UNSIGNED,
};
use crate::chain::rows::rlp::Items;
use crate::chain::rows::RowError;

/// Members of a transaction that a layer-2 chain makes itself, such as a deposit of the OP stack, borrowed from its
/// envelope.
#[derive(Debug)]
pub struct SystemFields<'a> {
    pub row: &'static SystemType,
    values: Vec<&'a [u8]>,
}

impl<'a> SystemFields<'a> {
    /// Return the members of a typed envelope; None if its type is not that of a system transaction.
    pub fn read(envelope: &'a [u8]) -> Result<Option<Self>, RowError> {
        let Some((row, list)) =
            envelope.split_first().and_then(|(kind, list)| Some((SystemType::of(*kind)?, list)))
        else {
            return Ok(None);
        };
        let items = Items::of_list(list)?;
        let values = match row.members {
            Ok(_) => items.strings().collect::<Result<_, _>>()?,
            Err(_) => Vec::new(),
        };
        Ok(Some(Self { row, values }))
    }

    /// Return the bytes of member `name`; None if transactions of the type do not have it.
    pub fn value(&self, name: &str) -> Option<&'a [u8]> {
        let position = self.row.members.ok()?.iter().position(|(each, _)| *each == name)?;
        self.values.get(position).copied()
    }

    /// Return the account that receives the call; None if the transaction creates a contract.
    pub fn recipient(&self) -> Option<&'a [u8; 20]> {
        match (self.value("to"), &self.row.recipient) {
            (Some(to), _) => to.try_into().ok(),
            (None, fixed) => fixed.as_ref().map(|address| &address.0 .0),
        }
    }

    pub fn members(&self) -> impl Iterator<Item = (Member, &'a [u8])> + '_ {
        self.row.members.unwrap_or_default().iter().copied().zip(self.values.iter().copied())
    }

    fn is_well_formed(&self) -> bool {
        let members = self.row.members.unwrap_or_default();
        members.len() == self.values.len() && self.members().all(|((_, form), value)| form.holds(value))
    }

    fn sender(&self) -> Option<Address> {
        match self.row.sender {
            Sender::Fixed(address) => Some(address),
            Sender::From => self.value("from").map(Address::from_slice),
        }
    }
}

/// System transaction of the right form.
#[derive(Debug, Clone)]
pub struct SystemTransaction {
    pub row: &'static SystemType,
    envelope: Vec<u8>,
    pub hash: B256,
    pub sender: Address,
}

impl SystemTransaction {
    /// Decode an envelope; fail with `Corrupt`, which names the fault.
    pub fn decode(envelope: &[u8]) -> Result<Self, RowError> {
        let fields = SystemFields::read(envelope)?.ok_or(RowError::Corrupt("no system transaction"))?;
        if !fields.is_well_formed() {
            return Err(RowError::Corrupt("members of a system transaction"));
        }
        let canonical = match fields.row.members {
            Ok(_) => encode(fields.row.kind, fields.values.iter().copied()),
            Err(_) => envelope.to_vec(),
        };
        if canonical != envelope || list_length(&envelope[1..]) != Some(envelope.len() - 1) {
            return Err(RowError::Corrupt("RLP of a system transaction"));
        }
        let sender = fields.sender().ok_or(RowError::Corrupt("sender of a system transaction"))?;
        Ok(Self { row: fields.row, hash: keccak256(envelope), sender, envelope: canonical })
    }

    pub fn envelope(&self) -> &[u8] {
        &self.envelope
    }
}

/// Return the bytes of the list at the start of `encoded`, its header included; None if there is none.
fn list_length(mut encoded: &[u8]) -> Option<usize> {
    let before = encoded.len();
    let header = Header::decode(&mut encoded).ok().filter(|header| header.list)?;
    Some(before - encoded.len() + header.payload_length)
}

/// Return the typed envelope of members given in their order.
pub fn encode<'v>(kind: u8, values: impl Iterator<Item = &'v [u8]> + Clone) -> Vec<u8> {
    let payload_length = values.clone().map(|value| value.length()).sum();
    let mut envelope = vec![kind];
    Header { list: true, payload_length }.encode(&mut envelope);
    values.for_each(|value| value.encode(&mut envelope));
    envelope
}

/// Sender of the first deposit in each block of the OP stack, and the contract called by it.
pub const L1_ATTRIBUTES: (Address, Address) = (
    address!("deaddeaddeaddeaddeaddeaddeaddeaddead0001"),
    address!("4200000000000000000000000000000000000015"),
);
