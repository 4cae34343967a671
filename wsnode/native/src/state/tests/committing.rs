//! Changes of a store that are staged, written, committed and settled in one step.

use super::*;
use crate::store::{Durability, Opening, WriteTxn};
use layout::tables::Tables as StateTables;
use std::sync::Arc;

/// Open the state in a file of its own, which has the table of the first block too.
pub(super) fn opened(path: &Path, writer: bool, map_size: usize) -> Result<StateStore, StateError> {
    let names: Vec<String> = ["meta"].into_iter().chain(NAMES).map(String::from).collect();
    let tables = StateTables::among(&names).unwrap();
    let (path, durability) = (path.to_owned(), Durability::NoSync);
    let opening = Opening { path, names, writer, durability, map_size, grows: true };
    let environment = Arc::new(crate::store::Environment::open(opening)?);
    StateStore::open(environment, tables, writer, Backing::None)
}

pub(super) trait Committing {
    fn write(
        &self,
        change: impl Fn(&mut WriteTxn<'_>, &StateTables) -> Result<(), StateError>,
    ) -> Result<(), StateError>;
    fn put(&mut self, staged: &Staged) -> Result<(), StateError>;
    /// Commit all sealed blocks, and the way back below them.
    fn commit(&mut self) -> Result<(), StateError>;
    /// Go back to block `number`, commit that, and return the new head. With a `root`, undo patches of the
    /// block until its state has this root.
    fn unwind(&mut self, number: u64, root: Option<B256>) -> Result<Head, StateError>;
    fn patch(&mut self, patches: &[AccountPatch]) -> Result<B256, StateError>;
    /// Let the chain begin with block `number`, and forget `most` values before it. Return if there may be
    /// more.
    fn prune(&mut self, number: u64, most: usize) -> Result<bool, StateError>;
    fn init_genesis<A: Into<GenesisAccount>>(
        &mut self,
        hash: B256,
        alloc: impl IntoIterator<Item = (Address, A)>,
    ) -> Result<B256, StateError>;
}

impl Committing for StateStore {
    fn write(
        &self,
        change: impl Fn(&mut WriteTxn<'_>, &StateTables) -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        let tables = self.environment.tables;
        self.environment.store().change(Durability::NoSync, |txn| change(txn, &tables))
    }

    fn put(&mut self, staged: &Staged) -> Result<(), StateError> {
        self.write(|txn, _| staged.write(txn))?;
        self.settle(staged).map(drop)
    }

    fn commit(&mut self) -> Result<(), StateError> {
        self.stage()?.iter().try_for_each(|staged| self.put(staged))
    }

    fn unwind(&mut self, number: u64, root: Option<B256>) -> Result<Head, StateError> {
        let head = self.rewind(number, root)?;
        self.commit()?;
        Ok(head)
    }

    fn patch(&mut self, patches: &[AccountPatch]) -> Result<B256, StateError> {
        let (root, staged) = self.stage_patch(patches)?;
        self.put(&staged)?;
        Ok(root)
    }

    fn prune(&mut self, number: u64, most: usize) -> Result<bool, StateError> {
        self.write(|txn, tables| Ok(tables.meta.put(txn, b"first", &number.to_be_bytes())?))?;
        let staged = self.stage_pruning(most)?;
        staged.iter().try_for_each(|staged| self.put(staged))?;
        Ok(staged.is_some())
    }

    fn init_genesis<A: Into<GenesisAccount>>(
        &mut self,
        hash: B256,
        alloc: impl IntoIterator<Item = (Address, A)>,
    ) -> Result<B256, StateError> {
        let staged = self.stage_genesis(hash, alloc)?;
        staged.iter().try_for_each(|staged| self.put(staged))?;
        Ok(self.committed_head()?.state_root)
    }
}
