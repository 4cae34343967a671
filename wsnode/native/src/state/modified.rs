//! Accounts and slots that differ between two blocks.

use alloy_eips::BlockNumHash;
use alloy_primitives::{keccak256, Address, B256, U256};

use super::bounds::Bounds;
use super::delta::TouchedAccount;
use super::environment::Snapshot;
use super::reader::StateReader;
use super::store::root_of;
use super::StateError;

impl StateReader {
    /// Return the accounts after block `last` that did not exist or differed, slots included, after block
    /// `first`, in the order of their hashes.
    ///
    /// Accounts removed since are left out.
    pub fn modified_accounts(
        &self,
        first: BlockNumHash,
        last: BlockNumHash,
        bounds: Bounds<'_>,
    ) -> Result<Vec<Address>, StateError> {
        let snapshot = self.read_after(last)?;
        snapshot.require_whole("lists of changed accounts")?;
        snapshot.require(first)?;
        let mut modified: Vec<(B256, Address)> = Vec::new();
        for (address, touched) in &snapshot.touched_between(first.number, last.number, bounds)?.0 {
            bounds.check()?;
            if snapshot.is_modified(address, touched, first.number, last.number)? {
                modified.push((keccak256(address), *address));
            }
        }
        modified.sort_unstable();
        Ok(modified.into_iter().map(|(_, address)| address).collect())
    }
}

/// Address, true if the account itself may have changed, and the slots that may have changed.
pub type ChangedKeys = (Address, bool, Vec<U256>);

impl StateReader {
    /// Return the accounts and slots that may have changed after block `first` up to block `last`, patches of
    /// `last` included.
    pub fn changed_keys(
        &self,
        first: u64,
        last: BlockNumHash,
        bounds: Bounds<'_>,
    ) -> Result<Vec<ChangedKeys>, StateError> {
        let snapshot = self.read_after(last)?;
        snapshot.require_whole("lists of changed accounts")?;
        let touched = snapshot.touched_between(first, last.number, bounds)?.0;
        let keys = |(address, touched): (Address, TouchedAccount)| {
            (address, touched.account, touched.slots.into_iter().collect())
        };
        Ok(touched.into_iter().map(keys).collect())
    }

    /// Return the state root after a block: its header's, unless the state was patched.
    pub fn root_after(&self, block: BlockNumHash) -> Result<B256, StateError> {
        let snapshot = self.read_after(block)?;
        Ok(root_of(&snapshot.require(block)?))
    }
}

impl Snapshot<'_> {
    fn is_modified(
        &self,
        address: &Address,
        touched: &TouchedAccount,
        first: u64,
        last: u64,
    ) -> Result<bool, StateError> {
        let Some(after) = self.account_at(address, last)? else {
            return Ok(false);
        };
        if self.account_at(address, first)? != Some(after) {
            return Ok(true);
        }
        for slot in &touched.slots {
            if self.storage_at(address, slot, first)? != self.storage_at(address, slot, last)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
