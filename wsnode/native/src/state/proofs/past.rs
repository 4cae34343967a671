//! Check of past states: the head's state is rewound block by block, and each root compared with the stored
//! one.

use std::collections::BTreeMap;

use alloy_primitives::B256;

use super::inspection::Watcher;
use crate::state::caches::hashes::Hashes;
use crate::state::changes::merged;
use crate::state::delta::TouchedState;
use crate::state::environment::Snapshot;
use crate::state::layout::keys::{changes_key, slot_key};
use crate::state::layout::versions::numbers_up_to;
use crate::state::reader::StateReader;
use crate::state::store::root_of;
use crate::state::StateError;
use crate::store::Table;
use crate::trie::StateTries;

/// Accounts and slots changed by each block, by its number.
type ByBlock = BTreeMap<u64, TouchedState>;

impl StateReader {
    /// Rewind the state to block `first`, or until the tries hold more than `nodes` nodes, and return the
    /// block reached.
    ///
    /// The first wrong root is reported to `watcher` and ends the check.
    pub fn inspect_past(
        &self,
        first: u64,
        nodes: usize,
        watcher: &mut impl Watcher,
    ) -> Result<u64, StateError> {
        let snapshot = self.read()?;
        let head = snapshot.head;
        let mut past = Past {
            tries: StateTries::new(root_of(&head)),
            root: root_of(&head),
            hashes: Hashes::default(),
            snapshot: &snapshot,
        };
        let (mut number, mut list) = (head.number, snapshot.list_at_or_before(head.number)?);
        while number > first {
            let (last, changed) = list.take().unwrap_or((first, Vec::new()));
            let before =
                last.checked_sub(1).map(|below| snapshot.list_at_or_before(below)).transpose()?.flatten();
            let lowest = before.as_ref().map_or(first, |(below, _)| *below).max(first);
            let by_block = snapshot.changed_by_block(last, lowest, changed)?;
            while number > lowest {
                if !past.is_as_stored(number, watcher)? {
                    return Ok(number);
                }
                past.take_back(number, by_block.get(&number))?;
                number -= 1;
                watcher.progress("changes", head.number - number, head.number - first)?;
                if past.tries.held() > nodes {
                    return Ok(number);
                }
            }
            list = before;
        }
        past.is_as_stored(number, watcher)?;
        Ok(number)
    }
}

/// Tries after some block, in memory.
struct Past<'s, 'e> {
    tries: StateTries,
    root: B256,
    hashes: Hashes,
    snapshot: &'s Snapshot<'e>,
}

impl Past<'_, '_> {
    fn is_as_stored(&self, number: u64, watcher: &mut impl Watcher) -> Result<bool, StateError> {
        let stored = self.snapshot.block(number)?.map(|block| root_of(&block));
        if stored == Some(self.root) {
            return Ok(true);
        }
        let stored = stored.map_or("nothing".into(), |root| root.to_string());
        watcher.fault(
            "changes",
            format!("the state after block {number} has the root {}, stored is {stored}", self.root),
        );
        Ok(false)
    }

    /// Rewind the tries to before block `number`, given the accounts and slots it changed.
    fn take_back(&mut self, number: u64, changed: Option<&TouchedState>) -> Result<(), StateError> {
        let Some(changed) = changed else { return Ok(()) };
        let before = changed.values(
            |address| self.snapshot.account_at(address, number - 1),
            |address, slot| self.snapshot.storage_at(address, slot, number - 1),
        )?;
        self.root = self.tries.apply(self.snapshot, self.hashes.changes(&before))?;
        Ok(())
    }
}

impl Snapshot<'_> {
    /// Return the last change list that ends with block `number` or before, after the number of its last
    /// block.
    fn list_at_or_before(&self, number: u64) -> Result<Option<(u64, Vec<u8>)>, StateError> {
        let (table, txn) = (self.tables.changes, &self.txn);
        let Some((key, _)) = table.at_or_before(txn, &changes_key(number, u32::MAX))? else {
            return Ok(None);
        };
        let last = key.first_chunk().map_or(0, |number| u64::from_be_bytes(*number));
        let mut list = Vec::new();
        for (part, row) in (0u32..).zip(table.prefix_iter(txn, &last.to_be_bytes())?) {
            let (key, bytes) = row?;
            if key != changes_key(last, part) {
                return Err(StateError::Corrupt(format!(
                    "a part of the changes up to block {last} is missing"
                )));
            }
            list.extend_from_slice(bytes);
        }
        Ok(Some((last, list)))
    }

    /// Group the accounts and slots of a list by block: those after `lowest` up to `last` with a version of
    /// the value.
    fn changed_by_block(&self, last: u64, lowest: u64, list: Vec<u8>) -> Result<ByBlock, StateError> {
        let mut by_block = ByBlock::new();
        for (address, touched) in merged(&[(last, list)])?.0 {
            if touched.account {
                for number in self.numbers_between(self.tables.accounts, address.as_slice(), lowest, last)? {
                    by_block.entry(number).or_default().0.entry(address).or_default().account = true;
                }
            }
            for slot in touched.slots {
                for number in
                    self.numbers_between(self.tables.storage, &slot_key(&address, &slot), lowest, last)?
                {
                    by_block.entry(number).or_default().0.entry(address).or_default().slots.insert(slot);
                }
            }
        }
        Ok(by_block)
    }

    fn numbers_between(
        &self,
        table: Table,
        key: &[u8],
        lowest: u64,
        last: u64,
    ) -> Result<Vec<u64>, StateError> {
        let most = usize::try_from(last.saturating_sub(lowest)).unwrap_or(usize::MAX);
        let mut numbers = numbers_up_to(&self.txn, table, key, last, most)?;
        numbers.retain(|number| *number > lowest);
        Ok(numbers)
    }
}
