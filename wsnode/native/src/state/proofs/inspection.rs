//! Inspection of the whole state after the head: its tries, accounts, slots, code and hashes are compared.
//!
//! Memory holds only one path of a trie, the upper nodes of two tries, and a row. Each value of the tables is
//! looked up in its trie. If the numbers of values are equal too, the tries hold the values of the tables and
//! no others.

use alloy_primitives::{hex, keccak256, Address, B256, U256};
use alloy_rlp::Decodable;
use alloy_trie::{Nibbles, TrieAccount, EMPTY_ROOT_HASH, KECCAK_EMPTY};

use crate::state::environment::Snapshot;
use crate::state::layout::account::{decode_value, Account};
use crate::state::layout::keys::{split_number, ADDRESS, SLOT};
use crate::state::layout::tables::Head;
use crate::state::layout::versions::versions_in;
use crate::state::reader::StateReader;
use crate::state::store::root_of;
use crate::state::StateError;
use crate::store::Table;
use crate::trie::{inspect, Trie, TrieError, TrieItem};

/// Maximum number of nodes of a trie kept in memory from one look-up to the next: some 300 bytes each.
const NODES_KEPT: usize = 50_000;

/// Receiver of an inspection's findings and progress.
pub trait Watcher {
    /// Take note of `done` entries inspected of `of` in `table`; an error ends the inspection.
    fn progress(&mut self, table: &'static str, done: u64, of: u64) -> Result<(), StateError>;
    /// Take note of a fault in a table, described by `text`.
    fn fault(&mut self, table: &'static str, text: String);
}

/// Head, and numbers of accounts, slots, trie nodes and codes inspected.
#[derive(Debug, Default, Clone, Copy)]
pub struct Inspected {
    pub head: Head,
    pub accounts: u64,
    pub slots: u64,
    pub nodes: u64,
    pub codes: u64,
}

impl StateReader {
    /// Inspect the state after the last committed head and return the numbers of values; faults go to
    /// `watcher`.
    ///
    /// The rows' checksums must have been verified.
    pub fn inspect(&self, watcher: &mut impl Watcher) -> Result<Inspected, StateError> {
        let snapshot = self.read()?;
        let inspected = Inspected { head: snapshot.head, ..Inspected::default() };
        let mut inspection =
            StateInspection { snapshot: &snapshot, watcher, inspected, in_tries: Counts::default() };
        inspection.hashes()?;
        inspection.tries()?;
        inspection.accounts()?;
        inspection.slots()?;
        inspection.codes()?;
        inspection.counts()?;
        Ok(inspection.inspected)
    }

    /// Return the blocks from `first` on, `limit` of them at most, each with the state root in its header.
    ///
    /// The state root of a returned head is the latest one, so the two differ after a patch.
    pub fn blocks(&self, first: u64, limit: usize) -> Result<Vec<(Head, B256)>, StateError> {
        let snapshot = self.read()?;
        let mut blocks = Vec::new();
        for number in first..first.saturating_add(limit as u64) {
            let Some(block) = snapshot.block(number)? else { break };
            blocks.push((block, snapshot.unpatched_root(&block)?));
        }
        Ok(blocks)
    }
}

/// Numbers of values and rows found in the tries.
#[derive(Default)]
struct Counts {
    accounts: u64,
    slots: u64,
    account_rows: u64,
    storage_rows: u64,
    /// Nodes that cannot be read; if there are any, the numbers are not compared.
    broken: u64,
}

struct StateInspection<'s, 'e, W> {
    snapshot: &'s Snapshot<'e>,
    watcher: &'s mut W,
    inspected: Inspected,
    in_tries: Counts,
}

impl<W: Watcher> StateInspection<'_, '_, W> {
    fn hashes(&mut self) -> Result<(), StateError> {
        let head = self.snapshot.head;
        if self.snapshot.block(head.number)? != Some(head) {
            self.watcher.fault("hashes", format!("block {} is not the head's {}", head.number, head.hash));
        }
        let beyond = (head.number + 1).to_be_bytes();
        if let Some((key, _)) = self.snapshot.tables.hashes.at_or_after(&self.snapshot.txn, &beyond)? {
            self.watcher.fault("hashes", format!("a row beyond the head: {}", hex::encode(key)));
        }
        let last = self.snapshot.tables.changes.last(&self.snapshot.txn)?;
        if let Some((key, _)) = last.filter(|(key, _)| *key >= &beyond[..]) {
            self.watcher.fault("changes", format!("a row beyond the head: {}", hex::encode(key)));
        }
        Ok(())
    }

    fn tries(&mut self) -> Result<(), StateError> {
        let (snapshot, root) = (self.snapshot, root_of(&self.snapshot.head));
        inspect(snapshot, None, root, &mut |found| match found {
            TrieItem::Row => self.row("account_nodes"),
            TrieItem::Broken(error) => self.broken("account_nodes", error),
            TrieItem::Leaf { path, mut value } => match TrieAccount::decode(&mut value) {
                Ok(account) => self.storage_trie(B256::from_slice(&path.pack()), account.storage_root),
                Err(error) => self.broken("account_nodes", error.into()),
            },
        })
    }

    fn storage_trie(&mut self, owner: B256, root: B256) -> Result<(), StateError> {
        self.in_tries.accounts += 1;
        inspect(self.snapshot, Some(&owner), root, &mut |found| match found {
            TrieItem::Row => self.row("storage_nodes"),
            TrieItem::Broken(error) => self.broken("storage_nodes", error),
            TrieItem::Leaf { .. } => {
                self.in_tries.slots += 1;
                Ok(())
            }
        })
    }

    fn row(&mut self, table: &'static str) -> Result<(), StateError> {
        let (rows, entries) = match table {
            "account_nodes" => (&mut self.in_tries.account_rows, self.snapshot.tables.account_nodes),
            _ => (&mut self.in_tries.storage_rows, self.snapshot.tables.storage_nodes),
        };
        *rows += 1;
        self.inspected.nodes += 1;
        self.watcher.progress(table, *rows, entries.len(&self.snapshot.txn)?)
    }

    fn broken(&mut self, table: &'static str, error: TrieError) -> Result<(), StateError> {
        if let TrieError::Store(_) = error {
            return Err(error.into());
        }
        self.in_tries.broken += 1;
        self.watcher.fault(table, error.to_string());
        Ok(())
    }

    fn accounts(&mut self) -> Result<(), StateError> {
        let mut trie = Trie::new(None, root_of(&self.snapshot.head));
        self.latest("accounts", self.snapshot.tables.accounts, ADDRESS, |this, key, row| {
            let Some(account) = Account::decode(row)? else { return Ok(()) };
            let address = Address::from_slice(key);
            this.inspected.accounts += 1;
            if account.code_hash != KECCAK_EMPTY && this.snapshot.find_code(&account.code_hash)?.is_none() {
                this.watcher.fault("code", format!("no code {} of {address}", account.code_hash));
            }
            let same = |found: TrieAccount| {
                (found.nonce, found.balance, found.code_hash)
                    == (account.nonce, account.balance, account.code_hash)
            };
            if this
                .leaf(&mut trie, &keccak256(address))?
                .is_some_and(|leaf| !leaf.is_some_and(|leaf| account_of(&leaf).is_some_and(same)))
            {
                this.watcher.fault("accounts", format!("{address} is not as in the trie"));
            }
            Ok(())
        })
    }

    fn slots(&mut self) -> Result<(), StateError> {
        let mut accounts = Trie::new(None, root_of(&self.snapshot.head));
        let mut storage: Option<(Address, Trie)> = None;
        self.latest("storage", self.snapshot.tables.storage, SLOT, |this, key, row| {
            let (address, slot) = (Address::from_slice(&key[..ADDRESS]), &key[ADDRESS..]);
            let value = decode_value(row)?;
            if value.is_zero() {
                return Ok(());
            }
            this.inspected.slots += 1;
            if storage.as_ref().is_none_or(|(of, _)| *of != address) {
                let owner = keccak256(address);
                // A broken path to the account is reported already, and nothing can be said of the account's
                // slots.
                let Some(leaf) = this.leaf(&mut accounts, &owner)? else { return Ok(()) };
                let account = leaf.and_then(|leaf| account_of(&leaf));
                let root = account.map_or(EMPTY_ROOT_HASH, |account| account.storage_root);
                storage = Some((address, Trie::new(Some(owner), root)));
            }
            let Some((_, trie)) = storage.as_mut() else { return Ok(()) };
            let found = this.leaf(trie, &keccak256(slot))?;
            if found.is_some_and(|leaf| !leaf.is_some_and(|leaf| U256::decode(&mut &*leaf) == Ok(value))) {
                let slot = B256::from_slice(slot);
                this.watcher.fault("storage", format!("slot {slot} of {address} is not as in the trie"));
            }
            Ok(())
        })
    }

    /// Return the value at a key of a trie, `Some(None)` if it has none; None if a node on the path cannot be
    /// read, a fault already reported.
    fn leaf(&mut self, trie: &mut Trie, key: &B256) -> Result<Option<Option<Vec<u8>>>, StateError> {
        if trie.held() > NODES_KEPT {
            trie.unload();
        }
        match trie.get(self.snapshot, &Nibbles::unpack_array(&key.0)) {
            Ok(value) => Ok(Some(value.map(<[u8]>::to_vec))),
            Err(TrieError::Store(error)) => Err(TrieError::Store(error).into()),
            Err(_) => Ok(None),
        }
    }

    /// Call `visit` with the key and the latest version of each value of a table; a key has `length` bytes
    /// before its block.
    fn latest(
        &mut self,
        name: &'static str,
        table: Table,
        length: usize,
        mut visit: impl FnMut(&mut Self, &[u8], &[u8]) -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        let (txn, entries) = (&self.snapshot.txn, table.len(&self.snapshot.txn)?);
        let mut rows = table.iter(txn)?.peekable();
        let (mut done, mut before) = (0, None);
        while let Some(row) = rows.next() {
            let (key, row) = row?;
            done += 1;
            self.watcher.progress(name, done, entries)?;
            let (value, first) = split_number(key);
            let versions = versions_in(row, first).ok().filter(|versions| {
                value.len() == length
                    && are_in_order(
                        versions,
                        first,
                        self.snapshot.head.number,
                        before.filter(|(of, _)| *of == value),
                    )
            });
            let Some(newest) = versions.as_ref().and_then(|versions| versions.first()) else {
                self.unreadable(name, key);
                continue;
            };
            before = Some((value, newest.0));
            let is_last = !matches!(rows.peek(), Some(Ok((next, _))) if split_number(next).0 == value);
            match if is_last { visit(self, value, newest.1) } else { Ok(()) } {
                Err(StateError::Corrupt(_)) => self.unreadable(name, key),
                done => done?,
            }
        }
        Ok(())
    }

    fn unreadable(&mut self, table: &'static str, key: &[u8]) {
        self.watcher.fault(table, format!("row {} cannot be read", hex::encode(key)));
    }

    fn codes(&mut self) -> Result<(), StateError> {
        let (table, txn) = (self.snapshot.tables.code, &self.snapshot.txn);
        let entries = table.len(txn)?;
        for entry in table.iter(txn)? {
            let (hash, code) = entry?;
            self.inspected.codes += 1;
            self.watcher.progress("code", self.inspected.codes, entries)?;
            if keccak256(code) != *hash {
                self.watcher.fault("code", format!("code {} has another hash", hex::encode(hash)));
            }
        }
        Ok(())
    }

    /// Compare the numbers of values and rows in the tries with those in the tables.
    fn counts(&mut self) -> Result<(), StateError> {
        if self.in_tries.broken > 0 {
            return Ok(());
        }
        let (tables, txn) = (self.snapshot.tables, &self.snapshot.txn);
        let counted = [
            ("accounts", "accounts", self.inspected.accounts, self.in_tries.accounts),
            ("storage", "slots", self.inspected.slots, self.in_tries.slots),
            ("account_nodes", "nodes", tables.account_nodes.len(txn)?, self.in_tries.account_rows),
            ("storage_nodes", "nodes", tables.storage_nodes.len(txn)?, self.in_tries.storage_rows),
        ];
        for (table, what, found, expected) in counted {
            if found != expected {
                self.watcher.fault(table, format!("{found} {what}, and {expected} in the tries"));
            }
        }
        Ok(())
    }
}

fn account_of(mut leaf: &[u8]) -> Option<TrieAccount> {
    TrieAccount::decode(&mut leaf).ok()
}

/// Return true if the block numbers of `versions` fall strictly, from at most `head` to exactly `first`, and
/// are above the newest number of `before`, the preceding row of the same value.
fn are_in_order(versions: &[(u64, &[u8])], first: u64, head: u64, before: Option<(&[u8], u64)>) -> bool {
    versions.is_sorted_by(|later, earlier| later.0 > earlier.0)
        && versions.first().is_some_and(|newest| newest.0 <= head)
        && versions.last().is_some_and(|oldest| oldest.0 == first)
        && before.is_none_or(|(_, newest)| newest < first)
}
