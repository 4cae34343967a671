//! Commitment to a block's state diff, part of the block hash since version 0.13.2.

use starknet_types_core::felt::Felt;
use starknet_types_core::hash::{Poseidon, StarkHash};

use super::felts::short_string;
use super::state::StateDiff;

/// Return the commitment to `change` and to the hashes of the Cairo 0 classes declared with it.
///
/// The order of the lists does not matter: all are sorted first.
pub fn state_diff_commitment(change: &StateDiff, deprecated_classes: &[Felt]) -> Felt {
    let mut elements = vec![short_string("STARKNET_STATE_DIFF0")];
    push_sorted(&mut elements, &change.class_hashes);
    push_sorted(&mut elements, &change.compiled_classes);
    push_sorted(&mut elements, &deprecated_classes.iter().map(|hash| [*hash]).collect::<Vec<_>>());
    // There is one data availability mode, with the number zero.
    elements.extend([Felt::ONE, Felt::ZERO]);
    push_storage(&mut elements, &change.storage);
    push_sorted(&mut elements, &change.nonces);
    Poseidon::hash_array(&elements)
}

fn push_sorted<const N: usize>(elements: &mut Vec<Felt>, records: &[[Felt; N]]) {
    let mut sorted = records.to_vec();
    sorted.sort_unstable();
    elements.push(Felt::from(sorted.len()));
    elements.extend(sorted.into_iter().flatten());
}

fn push_storage(elements: &mut Vec<Felt>, storage: &[[Felt; 3]]) {
    let mut sorted = storage.to_vec();
    sorted.sort_unstable();
    let contracts = sorted.chunk_by(|left, right| left[0] == right[0]).collect::<Vec<_>>();
    elements.push(Felt::from(contracts.len()));
    for entries in contracts {
        elements.extend([entries[0][0], Felt::from(entries.len())]);
        elements.extend(entries.iter().flat_map(|[_, key, value]| [*key, *value]));
    }
}
