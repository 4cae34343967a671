//! Tables of bytes, numbered in the order of their names, and the transactions that read and write them.
//!
//! A table is no handle of LMDB: a handle is good for one open environment only, and belongs to the
//! transaction. A row is its value and a checksum over key and value, added and checked here alone.

use std::cmp::Ordering;
use std::ops::{Deref, RangeBounds};
use std::sync::Arc;

use heed::types::Bytes;
use heed::{
    CommitOrAbort, CommitToken, Database, Env, MdbError, OnCommit, PutFlags, RoTxn, RwTxn, WithoutTls,
};

use super::damage::DamageLog;
use super::row::checksum;
use super::row::page_bounds::PageBounds;
use super::StoreError;

type Handle = Database<'static, Bytes, Bytes>;

pub type KeyValue<'a> = (&'a [u8], &'a [u8]);

/// Table of an environment, by its index among the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table(usize);

/// Handles of an open environment's tables, in the order of their names.
#[derive(Debug, Clone)]
pub struct Handles {
    tables: Arc<[Handle]>,
    damage: Arc<DamageLog>,
    bounds: PageBounds,
}

/// Read transaction, or a change while it is read.
pub struct ReadTxn<'t> {
    txn: AnyTxn<'t>,
    handles: Handles,
}

enum AnyTxn<'t> {
    Read(RoTxn<'t, WithoutTls>),
    Write(RwTxn<'t>),
}

pub struct WriteTxn<'t> {
    /// Inner transaction, which always writes.
    txn: ReadTxn<'t>,
    /// True if a write found no room in the map, so that the change must be made again.
    is_cut_short: bool,
    /// Buffer for a row while it is written.
    row: Vec<u8>,
}

impl Handles {
    /// Open the tables named by `damage`, created if they are missing.
    pub fn create(env: &Env<WithoutTls>, damage: &Arc<DamageLog>) -> heed::Result<Option<Self>> {
        let done = env.create_databases_and_commit(env.write_txn()?, |opener, txn| {
            let create = |name: &String| opener.create_database::<Bytes, Bytes>(txn, Some(name));
            let tables = damage.tables().iter().map(create).collect::<heed::Result<Vec<_>>>()?;
            heed::Result::Ok(CommitOrAbort::<_, ()>::Commit(Opened(tables)))
        })?;
        Ok(done.commit().map(|tables| Self::of(env, tables, damage)))
    }

    /// Open all tables of the file, which have the names in `damage`; return None if one is missing.
    pub fn open(env: &Env<WithoutTls>, damage: &Arc<DamageLog>) -> heed::Result<Option<Self>> {
        let done = env.open_databases_and_commit(env.read_txn()?, |opener, txn| {
            let open = |name: &String| opener.open_database::<Bytes, Bytes>(txn, Some(name));
            let tables = damage.tables().iter().map(open).collect::<heed::Result<Option<Vec<_>>>>()?;
            heed::Result::Ok(match tables {
                Some(tables) => CommitOrAbort::Commit(Opened(tables)),
                None => CommitOrAbort::Abort(()),
            })
        })?;
        Ok(done.commit().map(|tables| Self::of(env, tables, damage)))
    }

    fn of(env: &Env<WithoutTls>, tables: Arc<[Handle]>, damage: &Arc<DamageLog>) -> Self {
        let bounds = PageBounds::new(env.unnamed_database_stat().page_size as usize);
        Self { tables, damage: damage.clone(), bounds }
    }

    /// Return the record of damaged rows in the tables since the file was opened first.
    pub fn damage(&self) -> &Arc<DamageLog> {
        &self.damage
    }

    /// Return the checked value of a row found by LMDB.
    fn value<'t>(
        &self,
        table: Table,
        key: &[u8],
        found: heed::Result<Option<&'t [u8]>>,
    ) -> Result<Option<&'t [u8]>, StoreError> {
        let stored = found.map_err(|error| self.failure(table, key, error))?;
        stored.map(|stored| self.checked(table, key, stored)).transpose()
    }

    /// Return the entry found by LMDB from `key` on, with its value checked.
    fn entry<'t>(
        &self,
        table: Table,
        key: &[u8],
        found: heed::Result<Option<KeyValue<'t>>>,
    ) -> Result<Option<KeyValue<'t>>, StoreError> {
        let found = found.map_err(|error| self.failure(table, key, error))?;
        found.map(|entry| self.checked_entry(table, key, entry)).transpose()
    }

    /// Return an entry with its value checked. `near` is a key to name if the entry's own is damaged.
    fn checked_entry<'t>(
        &self,
        table: Table,
        near: &[u8],
        (key, stored): KeyValue<'t>,
    ) -> Result<KeyValue<'t>, StoreError> {
        if !self.bounds.has_key(key) {
            return Err(self.damaged(table, near));
        }
        Ok((key, self.checked(table, key, stored)?))
    }

    /// Return the value of a stored row; fail with `DamagedRow` if its size or its checksum is wrong.
    fn checked<'t>(&self, table: Table, key: &[u8], stored: &'t [u8]) -> Result<&'t [u8], StoreError> {
        self.value_of(key, stored).ok_or_else(|| self.damaged(table, key))
    }

    fn value_of<'t>(&self, key: &[u8], stored: &'t [u8]) -> Option<&'t [u8]> {
        if self.bounds.has_value(stored) {
            checksum::value_of(key, stored)
        } else {
            None
        }
    }

    /// Convert an error of LMDB: a damaged page on the way to `key` becomes `DamagedRow`; a failure of the
    /// disk does not.
    ///
    /// A table whose own record is damaged is `Incompatible` or `BadDbi`; a transaction that has met a
    /// damaged page is `BadTxn` from then on.
    fn failure(&self, table: Table, key: &[u8], error: heed::Error) -> StoreError {
        use MdbError::{BadDbi, BadTxn, Corrupted, Incompatible, PageNotFound};
        match error {
            heed::Error::Mdb(Corrupted | PageNotFound | Incompatible | BadDbi | BadTxn) => {
                self.damaged(table, key)
            }
            error => error.into(),
        }
    }

    fn damaged(&self, table: Table, key: &[u8]) -> StoreError {
        self.damage.note(table.0, key).into()
    }
}

/// Tables opened by a transaction that is not committed yet.
struct Opened<'e>(Vec<Database<'e, Bytes, Bytes>>);

impl OnCommit for Opened<'_> {
    type Committed = Arc<[Handle]>;

    fn on_commit(self, token: &CommitToken) -> Arc<[Handle]> {
        self.0.into_iter().map(|table| table.on_commit(token)).collect()
    }
}

impl<'t> ReadTxn<'t> {
    pub fn new(txn: RoTxn<'t, WithoutTls>, handles: Handles) -> Self {
        Self { txn: AnyTxn::Read(txn), handles }
    }

    /// Return the version that the transaction sees: the number of the last change before it, or its own.
    pub fn id(&self) -> usize {
        self.raw().id()
    }

    fn raw(&self) -> &RoTxn<'t, WithoutTls> {
        match &self.txn {
            AnyTxn::Read(txn) => txn,
            AnyTxn::Write(txn) => txn,
        }
    }
}

impl<'t> WriteTxn<'t> {
    pub fn new(txn: RwTxn<'t>, mut handles: Handles) -> Self {
        handles.bounds = PageBounds::none();
        Self { txn: ReadTxn { txn: AnyTxn::Write(txn), handles }, is_cut_short: false, row: Vec::new() }
    }

    pub fn commit(self) -> Result<(), StoreError> {
        match self.txn.txn {
            AnyTxn::Write(txn) => Ok(txn.commit()?),
            AnyTxn::Read(_) => Err(StoreError::ReadOnly),
        }
    }

    /// Return true if any write found no room in the map, even if the caller ignored its error.
    pub fn is_cut_short(&self) -> bool {
        self.is_cut_short
    }

    fn write<T>(
        &mut self,
        table: Table,
        key: &[u8],
        write: impl FnOnce(&mut RwTxn<'t>, Handle) -> heed::Result<T>,
    ) -> Result<T, StoreError> {
        let AnyTxn::Write(txn) = &mut self.txn.txn else { return Err(StoreError::ReadOnly) };
        let written = write(txn, self.txn.handles.tables[table.0]);
        self.is_cut_short |= matches!(written, Err(heed::Error::Mdb(MdbError::MapFull)));
        written.map_err(|error| self.txn.handles.failure(table, key, error))
    }
}

impl<'t> Deref for WriteTxn<'t> {
    type Target = ReadTxn<'t>;

    fn deref(&self) -> &Self::Target {
        &self.txn
    }
}

impl Table {
    /// Return the first `N` tables of an environment.
    pub fn first_ones<const N: usize>() -> [Self; N] {
        std::array::from_fn(Self)
    }

    /// Return the table at index `place` among the names that an environment was opened with.
    pub fn at(place: usize) -> Self {
        Self(place)
    }

    pub fn get<'t>(self, txn: &'t ReadTxn<'_>, key: &[u8]) -> Result<Option<&'t [u8]>, StoreError> {
        txn.handles.value(self, key, self.handle(txn).get(txn.raw(), key))
    }

    pub fn first<'t>(self, txn: &'t ReadTxn<'_>) -> Result<Option<KeyValue<'t>>, StoreError> {
        txn.handles.entry(self, b"", self.handle(txn).first(txn.raw()))
    }

    pub fn last<'t>(self, txn: &'t ReadTxn<'_>) -> Result<Option<KeyValue<'t>>, StoreError> {
        txn.handles.entry(self, b"", self.handle(txn).last(txn.raw()))
    }

    /// Return the first entry whose key is not less than `key`, or None.
    pub fn at_or_after<'t>(
        self,
        txn: &'t ReadTxn<'_>,
        key: &[u8],
    ) -> Result<Option<KeyValue<'t>>, StoreError> {
        self.found(txn, key, Ordering::is_ge, self.handle(txn).get_greater_than_or_equal_to(txn.raw(), key))
    }

    pub fn after<'t>(self, txn: &'t ReadTxn<'_>, key: &[u8]) -> Result<Option<KeyValue<'t>>, StoreError> {
        self.found(txn, key, Ordering::is_gt, self.handle(txn).get_greater_than(txn.raw(), key))
    }

    /// Return the last entry whose key is not greater than `key`, or None.
    pub fn at_or_before<'t>(
        self,
        txn: &'t ReadTxn<'_>,
        key: &[u8],
    ) -> Result<Option<KeyValue<'t>>, StoreError> {
        self.found(txn, key, Ordering::is_le, self.handle(txn).get_lower_than_or_equal_to(txn.raw(), key))
    }

    pub fn before<'t>(self, txn: &'t ReadTxn<'_>, key: &[u8]) -> Result<Option<KeyValue<'t>>, StoreError> {
        self.found(txn, key, Ordering::is_lt, self.handle(txn).get_lower_than(txn.raw(), key))
    }

    /// Return the checked entry found by LMDB from `key` on; an entry on the wrong side of `key`, to which a
    /// damaged page has led, is damage: a walk from entry to entry would not end.
    fn found<'t>(
        self,
        txn: &'t ReadTxn<'_>,
        key: &[u8],
        is_beyond: fn(Ordering) -> bool,
        found: heed::Result<Option<KeyValue<'t>>>,
    ) -> Result<Option<KeyValue<'t>>, StoreError> {
        match txn.handles.entry(self, key, found)? {
            Some((other, _)) if !is_beyond(other.cmp(key)) => Err(txn.handles.damaged(self, key)),
            entry => Ok(entry),
        }
    }

    /// Return all entries, in the order of their keys.
    pub fn iter<'t>(self, txn: &'t ReadTxn<'_>) -> Result<impl Iterator<Item = Entry<'t>>, StoreError> {
        let found = self.handle(txn).iter(txn.raw());
        self.entries(&txn.handles, found)
    }

    pub fn range<'t>(
        self,
        txn: &'t ReadTxn<'_>,
        bounds: &impl RangeBounds<[u8]>,
    ) -> Result<impl Iterator<Item = Entry<'t>>, StoreError> {
        let found = self.handle(txn).range(txn.raw(), bounds);
        self.entries(&txn.handles, found)
    }

    /// Return the entries whose keys begin with `prefix`, in the order of their keys.
    pub fn prefix_iter<'t>(
        self,
        txn: &'t ReadTxn<'_>,
        prefix: &[u8],
    ) -> Result<impl Iterator<Item = Entry<'t>>, StoreError> {
        let found = self.handle(txn).prefix_iter(txn.raw(), prefix);
        self.entries(&txn.handles, found)
    }

    /// Return the entries whose keys begin with `prefix`, the last one first.
    pub fn rev_prefix_iter<'t>(
        self,
        txn: &'t ReadTxn<'_>,
        prefix: &[u8],
    ) -> Result<impl Iterator<Item = Entry<'t>>, StoreError> {
        let found = self.handle(txn).rev_prefix_iter(txn.raw(), prefix);
        self.entries(&txn.handles, found)
    }

    fn entries<'t, I>(
        self,
        handles: &'t Handles,
        found: heed::Result<I>,
    ) -> Result<impl Iterator<Item = Entry<'t>>, StoreError>
    where
        I: Iterator<Item = heed::Result<KeyValue<'t>>>,
    {
        let found = found.map_err(|error| handles.failure(self, b"", error))?;
        Ok(found.map(move |item| {
            handles.checked_entry(self, b"", item.map_err(|error| handles.failure(self, b"", error))?)
        }))
    }

    /// Return the value at `key`; record a missing row as damaged and fail with `DamagedRow`.
    pub fn require<'t>(self, txn: &'t ReadTxn<'_>, key: &[u8]) -> Result<&'t [u8], StoreError> {
        self.get(txn, key)?.ok_or_else(|| self.missing(txn, key))
    }

    /// Record a row that must exist as damaged, and return the error for it.
    pub fn missing(self, txn: &ReadTxn<'_>, key: &[u8]) -> StoreError {
        txn.handles.damaged(self, key)
    }

    /// Call `visit` with each row's key, and true if the row is damaged; a damaged page ends the walk.
    pub fn check_rows<E: From<StoreError>>(
        self,
        txn: &ReadTxn<'_>,
        mut visit: impl FnMut(&[u8], bool) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut before = Vec::new();
        for found in self.handle(txn).iter(txn.raw()).map_err(StoreError::from)? {
            let (key, stored) = match found.map_err(|error| txn.handles.failure(self, &before, error)) {
                Err(StoreError::DamagedRow(_)) => return visit(&before, true),
                found => found?,
            };
            if !txn.handles.bounds.has_key(key) {
                return visit(&before, true);
            }
            visit(key, txn.handles.value_of(key, stored).is_none())?;
            key.clone_into(&mut before);
        }
        Ok(())
    }

    pub fn len(self, txn: &ReadTxn<'_>) -> Result<u64, StoreError> {
        Ok(self.handle(txn).len(txn.raw())?)
    }

    pub fn put(self, txn: &mut WriteTxn<'_>, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.put_with_flags(txn, PutFlags::empty(), key, value).map(drop)
    }

    /// Set the value at `key` and return true; return false if `flags` forbid it.
    pub fn put_with_flags(
        self,
        txn: &mut WriteTxn<'_>,
        flags: PutFlags,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool, StoreError> {
        let mut row = std::mem::take(&mut txn.row);
        row.clear();
        row.extend_from_slice(value);
        row.extend_from_slice(&checksum::suffix(key, value));
        let written = txn.write(self, key, |txn, table| match table.put_with_flags(txn, flags, key, &row) {
            Err(heed::Error::Mdb(MdbError::KeyExist)) => Ok(false),
            done => done.map(|()| true),
        });
        txn.row = row;
        written
    }

    /// Remove the entry at `key`; return true if there was one.
    pub fn delete(self, txn: &mut WriteTxn<'_>, key: &[u8]) -> Result<bool, StoreError> {
        txn.write(self, key, |txn, table| table.delete(txn, key))
    }

    pub fn delete_range(
        self,
        txn: &mut WriteTxn<'_>,
        bounds: &impl RangeBounds<[u8]>,
    ) -> Result<(), StoreError> {
        txn.write(self, b"", |txn, table| table.delete_range(txn, bounds).map(drop))
    }

    pub fn clear(self, txn: &mut WriteTxn<'_>) -> Result<(), StoreError> {
        txn.write(self, b"", |txn, table| table.clear(txn))
    }

    fn handle(self, txn: &ReadTxn<'_>) -> Handle {
        txn.handles.tables[self.0]
    }
}

/// Entry of a table, or the error of reading it.
pub type Entry<'t> = Result<KeyValue<'t>, StoreError>;
