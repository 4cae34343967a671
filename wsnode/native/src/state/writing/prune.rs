//! Pruning: versions of values replaced up to a block are dropped, and with them the states before it.
//!
//! The lists of changes name the values with such versions. A list that ends up to the block is worked off,
//! some values in each transaction, and dropped with the last of them. A process killed in between begins
//! with the list again.

use std::ops::Bound;

use crate::store::WriteTxn;

use crate::state::changes::Outdated;
use crate::state::layout::keys::{changes_key, slot_key};
use crate::state::layout::tables::Tables;
use crate::state::layout::versions::drop_before;
use crate::state::store::StateStore;
use crate::state::StateError;

/// Number of blocks below the first state whose hashes are kept, because BLOCKHASH reads them.
const ANCESTORS: u64 = 256;

impl StateStore {
    /// Drop states before the committed block `number`, at most `most` values of them; return true if there
    /// may be more to drop.
    ///
    /// Fail with `NoHistory` if the block's state is not kept.
    pub fn prune(&mut self, number: u64, most: usize, sync: bool) -> Result<bool, StateError> {
        let snapshot = self.environment.read()?;
        let (earliest, latest) = (snapshot.earliest()?, snapshot.head.number);
        if number < earliest || number > latest {
            return Err(StateError::NoHistory { requested: number, earliest, latest });
        }
        if self.outdated.is_none() {
            self.outdated = snapshot.outdated(number)?;
        }
        drop(snapshot);
        let kept = self.outdated.as_ref().map_or(0, |list| list.values.len().saturating_sub(most));
        if self.outdated.is_some() || number > earliest {
            self.environment.write(sync, |txn, tables| {
                forget_blocks(txn, tables, number)?;
                self.outdated.iter().try_for_each(|list| drop_values(list, kept, number, txn, tables))
            })?;
        }
        let has_more = self.outdated.is_some();
        self.outdated = self.outdated.take().filter(|_| kept > 0);
        self.outdated.iter_mut().for_each(|list| list.values.truncate(kept));
        Ok(has_more)
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
    for (address, slot) in &list.values[kept..] {
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

/// Make `number` the first block with a state, and delete the hashes of blocks that none needs any more.
fn forget_blocks(txn: &mut WriteTxn<'_>, tables: &Tables, number: u64) -> Result<(), StateError> {
    tables.put_earliest(txn, number)?;
    // The genesis block's row says what the store was begun with.
    let (first, last) = (1u64.to_be_bytes(), number.saturating_sub(ANCESTORS).to_be_bytes());
    tables.hashes.delete_range(txn, &(Bound::Included(&first[..]), Bound::Excluded(&last[..])))?;
    Ok(())
}
