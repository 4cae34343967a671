//! Pruning: versions of values replaced up to a block are dropped, and with them the states before it.
//!
//! The lists of changes name the values with such versions. A list that ends up to the block is worked off,
//! some values in each transaction, and dropped with the last of them. A process killed in between begins
//! with the list again.

use std::ops::Bound;

use super::staged::{CommitEffect, Staged};
use crate::state::changes::Outdated;
use crate::state::layout::keys::{changes_key, slot_key};
use crate::state::layout::tables::Tables;
use crate::state::layout::versions::drop_before;
use crate::state::store::StateStore;
use crate::state::StateError;
use crate::store::WriteTxn;

/// Number of blocks below the first state whose hashes are kept, because BLOCKHASH reads them.
const ANCESTORS: u64 = 256;

impl StateStore {
    /// Stage the deletion of states before the first block of the chain, at most `most` values of them;
    /// return None if there are none.
    pub fn stage_pruning(&self, most: usize) -> Result<Option<Staged>, StateError> {
        let snapshot = self.environment.read()?;
        let number = snapshot.earliest()?;
        let oldest = snapshot.tables.hashes.at_or_after(&snapshot.txn, &1u64.to_be_bytes())?;
        let has_hashes = oldest.is_some_and(|(key, _)| key < &first_hash(number).to_be_bytes()[..]);
        let outdated = match &self.outdated {
            Some(outdated) => Some(outdated.clone()),
            None => snapshot.outdated(number)?,
        };
        if outdated.is_none() && !has_hashes {
            return Ok(None);
        }
        let kept = outdated.as_ref().map_or(0, |list| list.left.saturating_sub(most));
        let left = outdated.clone().filter(|_| kept > 0).map(|list| Outdated { left: kept, ..list });
        Ok(Some(self.staged(CommitEffect::Pruned(left), move |txn, tables| {
            forget_hashes(txn, tables, number)?;
            outdated.iter().try_for_each(|list| drop_values(list, kept, number, txn, tables))
        })))
    }
}

/// Drop older versions of the listed values from index `kept` on, and the list itself if `kept` is 0.
fn drop_values(
    list: &Outdated,
    kept: usize,
    number: u64,
    txn: &mut WriteTxn<'_>,
    tables: &Tables,
) -> Result<(), StateError> {
    for (address, slot) in &list.values[kept..list.left] {
        match slot {
            None => drop_before(txn, tables.accounts, address.as_slice(), number)?,
            Some(slot) => drop_before(txn, tables.storage, &slot_key(address, slot), number)?,
        }
    }
    if kept == 0 {
        let (first, last) = (changes_key(list.last, 0), changes_key(list.last, u32::MAX));
        tables.changes.delete_range(txn, &(Bound::Included(&first[..]), Bound::Included(&last[..])))?;
    }
    Ok(())
}

/// Return the first block above the genesis block whose hash is kept, if block `number` is the first with a
/// state.
fn first_hash(number: u64) -> u64 {
    number.saturating_sub(ANCESTORS)
}

fn forget_hashes(txn: &mut WriteTxn<'_>, tables: &Tables, number: u64) -> Result<(), StateError> {
    // The row of block 0 is kept, because `genesis_hash` reads the chain of the store from it.
    let (first, last) = (1u64.to_be_bytes(), first_hash(number).to_be_bytes());
    tables.hashes.delete_range(txn, &(Bound::Included(&first[..]), Bound::Excluded(&last[..])))?;
    Ok(())
}
