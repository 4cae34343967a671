//! Commitments to a block's transactions, events and receipts: roots of tries of height 64, keyed by index.

use starknet_types_core::felt::Felt;
use starknet_types_core::hash::{Pedersen, Poseidon, StarkHash};

use super::codec::{
    ExecutionStatus, TransactionKind, UnverifiedEvent, UnverifiedReceipt, UnverifiedStateDiff,
    UnverifiedTransaction,
};
use super::version::{ProtocolVersion, ALL_SIGNATURES, L2_GAS, POSEIDON};
use crate::starknet::felts::starknet_keccak;
use crate::starknet::state::StateDiff;

const HEIGHT: u32 = 64;

/// Leaves of one transaction in the three commitments.
pub struct Leaves {
    pub transaction: Felt,
    pub events: Vec<Felt>,
    /// Zero before version 0.13.2.
    pub receipt: Felt,
}

/// Commitments of a block; `receipts` is zero before version 0.13.2.
pub struct Commitments {
    pub transactions: Felt,
    pub events: Felt,
    pub receipts: Felt,
}

impl Leaves {
    pub fn new(
        transaction: &UnverifiedTransaction,
        receipt: &UnverifiedReceipt<'_>,
        version: ProtocolVersion,
    ) -> Self {
        let hash = receipt.transaction_hash;
        let events = receipt.events.iter().map(|event| event_leaf(hash, event, version)).collect();
        let is_covered = version >= POSEIDON;
        Self {
            transaction: transaction_leaf(hash, transaction, version),
            events,
            receipt: if is_covered { receipt_leaf(receipt) } else { Felt::ZERO },
        }
    }
}

impl Commitments {
    pub fn new(leaves: &[Leaves], version: ProtocolVersion) -> Self {
        let transactions = leaves.iter().map(|leaves| leaves.transaction).collect::<Vec<_>>();
        let events = leaves.iter().flat_map(|leaves| leaves.events.iter().copied()).collect::<Vec<_>>();
        if version < POSEIDON {
            return Self {
                transactions: list_root::<Pedersen>(&transactions),
                events: list_root::<Pedersen>(&events),
                receipts: Felt::ZERO,
            };
        }
        let receipts = leaves.iter().map(|leaves| leaves.receipt).collect::<Vec<_>>();
        Self {
            transactions: list_root::<Poseidon>(&transactions),
            events: list_root::<Poseidon>(&events),
            receipts: list_root::<Poseidon>(&receipts),
        }
    }
}

/// Return the changes of a state diff, and the hashes of the Cairo 0 classes declared with it.
pub fn known_state_diff(diff: &UnverifiedStateDiff) -> (StateDiff, &[Felt]) {
    let storage = diff.storage_diffs.iter();
    let deployed = diff.deployed_contracts.iter().map(|item| [item.address, item.class_hash]);
    let replaced = diff.replaced_classes.iter().map(|item| [item.contract_address, item.class_hash]);
    let compiled = diff.declared_classes.iter().chain(diff.migrated_compiled_classes.iter().flatten());
    let change = StateDiff {
        storage: storage
            .flat_map(|item| item.storage_entries.iter().map(|entry| [item.address, entry.key, entry.value]))
            .collect(),
        class_hashes: deployed.chain(replaced).collect(),
        nonces: diff.nonces.iter().map(|item| [item.contract_address, item.nonce]).collect(),
        compiled_classes: compiled.map(|item| [item.class_hash, item.compiled_class_hash]).collect(),
    };
    (change, &diff.deprecated_declared_classes)
}

/// Return the state diff length of the block hash: the number of entries in all lists of the state diff.
pub fn state_diff_length(change: &StateDiff, deprecated: &[Felt]) -> u64 {
    let StateDiff { storage, class_hashes, nonces, compiled_classes } = change;
    (storage.len() + class_hashes.len() + nonces.len() + compiled_classes.len() + deprecated.len()) as u64
}

fn transaction_leaf(hash: Felt, transaction: &UnverifiedTransaction, version: ProtocolVersion) -> Felt {
    let signature = transaction.signature.as_deref().unwrap_or_default();
    if version < POSEIDON {
        let counts = version >= ALL_SIGNATURES || transaction.kind == TransactionKind::Invoke;
        return Pedersen::hash(&hash, &Pedersen::hash_array(if counts { signature } else { &[] }));
    }
    let mut values = vec![hash];
    values.extend_from_slice(signature);
    if signature.is_empty() && version < L2_GAS {
        values.push(Felt::ZERO);
    }
    Poseidon::hash_array(&values)
}

fn event_leaf(hash: Felt, event: &UnverifiedEvent, version: ProtocolVersion) -> Felt {
    let UnverifiedEvent { from_address, keys, data } = event;
    if version < POSEIDON {
        return Pedersen::hash_array(&[
            *from_address,
            Pedersen::hash_array(keys),
            Pedersen::hash_array(data),
        ]);
    }
    let mut values = vec![*from_address, hash];
    push_list(&mut values, keys);
    push_list(&mut values, data);
    Poseidon::hash_array(&values)
}

fn receipt_leaf(receipt: &UnverifiedReceipt<'_>) -> Felt {
    let mut messages = vec![Felt::from(receipt.messages_sent.len())];
    for message in &receipt.messages_sent {
        messages.extend([message.from_address, message.to_address]);
        push_list(&mut messages, &message.payload);
    }
    let reason = match receipt.execution_status {
        ExecutionStatus::Succeeded => Felt::ZERO,
        ExecutionStatus::Reverted => {
            starknet_keccak(receipt.revert_reason.as_deref().unwrap_or_default().as_bytes())
        }
    };
    Poseidon::hash_array(&[
        receipt.transaction_hash,
        receipt.actual_fee.amount,
        Poseidon::hash_array(&messages),
        reason,
        Felt::ZERO, // where L2 gas has its place, up to version 0.14.1
        Felt::from(receipt.execution_resources.l1_gas),
        Felt::from(receipt.execution_resources.l1_data_gas),
    ])
}

fn push_list(values: &mut Vec<Felt>, list: &[Felt]) {
    values.push(Felt::from(list.len()));
    values.extend_from_slice(list);
}

/// Return the root of a trie of height 64 with `leaves` at the keys 0, 1, 2 and on; zero without leaves.
fn list_root<H: StarkHash>(leaves: &[Felt]) -> Felt {
    if leaves.is_empty() {
        return Felt::ZERO;
    }
    subtrie::<H>(leaves, HEIGHT)
}

/// Return the root of a subtrie of this height with `leaves` from its left end on, without a gap.
///
/// If the leaves fit into a lower subtrie, an edge of zeros leads to that.
fn subtrie<H: StarkHash>(leaves: &[Felt], height: u32) -> Felt {
    let needed = (leaves.len() as u64).next_power_of_two().trailing_zeros();
    if needed < height {
        let child = subtrie::<H>(leaves, needed);
        return H::hash(&child, &Felt::ZERO) + Felt::from(height - needed);
    }
    if height == 0 {
        return leaves[0];
    }
    let (left, right) = leaves.split_at(1 << (height - 1));
    H::hash(&subtrie::<H>(left, height - 1), &subtrie::<H>(right, height - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::starknet::trie::BinaryTrie;

    /// Compute the root by a trie of height 251, with the leaves below an edge of 187 zeros.
    fn by_the_high_trie(leaves: &[Felt]) -> Felt {
        let mut trie = BinaryTrie::<Pedersen>::default();
        for (index, leaf) in leaves.iter().enumerate() {
            trie.set(&Felt::from(index), *leaf);
        }
        trie.root()
    }

    #[test]
    fn the_root_of_a_list_is_that_of_the_trie_but_for_the_height() {
        for count in [1_u64, 2, 3, 4, 5, 7, 8, 9, 31, 33, 100] {
            let leaves = (1..=count).map(Felt::from).collect::<Vec<_>>();
            let difference = by_the_high_trie(&leaves) - list_root::<Pedersen>(&leaves);
            assert_eq!(difference, Felt::from(251 - HEIGHT), "{count} leaves");
        }
    }

    #[test]
    fn no_leaves_have_the_root_zero() {
        assert_eq!(list_root::<Poseidon>(&[]), Felt::ZERO);
    }
}
