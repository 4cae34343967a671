//! Transactions over all tables: a snapshot, or the change being made.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use heed::{Env, PutFlags, RwTxn, WithoutTls};

use super::table::{Handles, KeyValue, ReadTxn, WriteTxn};
use super::{StoreError, Table};

/// LMDB read transaction shared by all snapshots of the same version; None once it is lost.
pub type SharedReadTxn = Mutex<Option<ReadTxn<'static>>>;

enum TransactionState {
    Reading(Arc<SharedReadTxn>),
    Writing(Change),
    Ended,
}

/// Change of an environment, of which there is one at a time.
struct Change {
    // Fields are dropped in this order: the transaction before the environment from which it borrows.
    txn: WriteTxn<'static>,
    thread: ThreadId,
    _env: Arc<Env<WithoutTls>>,
}

// SAFETY: LMDB requires one thread for the begin, all uses and the end of a change. Each use checks the
// thread, and the change ends in the call that began it.
unsafe impl Send for Change {}

impl Change {
    fn seen(&self) -> Result<&WriteTxn<'static>, StoreError> {
        if self.thread == thread::current().id() {
            Ok(&self.txn)
        } else {
            Err(StoreError::AnotherThread)
        }
    }
}

impl fmt::Debug for TransactionState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Reading(_) => "Reading",
            Self::Writing(_) => "Writing",
            Self::Ended => "Ended",
        })
    }
}

/// Entry to seek: the first, the last, or the nearest one to a key.
#[derive(Debug, Clone, Copy)]
pub enum Seek<'a> {
    First,
    AtOrAfter(&'a [u8]),
    After(&'a [u8]),
    Before(&'a [u8]),
    Last,
}

/// Shared handle of a read or write transaction. Its use fails with `StoreError::Ended` after the end of the
/// transaction, and with `StoreError::Lost` if the file under a snapshot was closed.
#[derive(Debug, Clone)]
pub struct TransactionHandle(Arc<Mutex<TransactionState>>);

impl TransactionHandle {
    /// Create a handle of a snapshot; the read transaction ends when the last handle that shares it is
    /// closed.
    pub(super) fn reading(version: Arc<SharedReadTxn>) -> Self {
        Self(Arc::new(Mutex::new(TransactionState::Reading(version))))
    }

    pub(super) fn writing(env: Env<WithoutTls>, handles: Handles) -> Result<Self, StoreError> {
        let env = Arc::new(env);
        let txn = env.write_txn()?;
        // SAFETY: the `Arc` keeps the environment at one address, and the environment is dropped after the
        // transaction.
        let txn = unsafe { std::mem::transmute::<RwTxn<'_>, RwTxn<'static>>(txn) };
        let txn = WriteTxn::new(txn, handles);
        let change = Change { txn, thread: thread::current().id(), _env: env };
        Ok(Self(Arc::new(Mutex::new(TransactionState::Writing(change)))))
    }

    /// Return the version of the store that the snapshot sees: the number of the last change before it.
    pub fn version(&self) -> Result<usize, StoreError> {
        self.with(|txn| Ok(txn.id()))
    }

    /// Return the result of `work` on the transaction; `work` must not use this handle.
    pub fn with<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&ReadTxn<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        match &*self.locked() {
            TransactionState::Reading(version) => work(held(version).as_ref().ok_or(StoreError::Lost)?),
            TransactionState::Writing(change) => work(change.seen()?),
            TransactionState::Ended => Err(StoreError::Ended.into()),
        }
    }

    /// Return the result of `take` on the value at `key`, or None if there is none; `take` must not use this
    /// handle.
    pub fn get<T>(
        &self,
        table: Table,
        key: &[u8],
        take: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, StoreError> {
        self.with(|txn| Ok(table.get(txn, key)?.map(take)))
    }

    /// Return the result of `take` on the entry found by `way`, or None if there is none.
    pub fn entry<T>(
        &self,
        table: Table,
        way: Seek<'_>,
        take: impl FnOnce(KeyValue<'_>) -> T,
    ) -> Result<Option<T>, StoreError> {
        self.with(|txn| {
            let found = match way {
                Seek::First => table.first(txn),
                Seek::AtOrAfter(key) => table.at_or_after(txn, key),
                Seek::After(key) => table.after(txn, key),
                Seek::Before(key) => table.before(txn, key),
                Seek::Last => table.last(txn),
            };
            Ok(found?.map(take))
        })
    }

    pub fn entries(&self, table: Table) -> Result<u64, StoreError> {
        self.with(|txn| table.len(txn))
    }

    /// Set the value at `key` and return true; return false if `flags` forbid it.
    pub fn put(&self, table: Table, flags: PutFlags, key: &[u8], value: &[u8]) -> Result<bool, StoreError> {
        self.change(|txn| table.put_with_flags(txn, flags, key, value))
    }

    /// Remove the entry at `key`; return true if there was one.
    pub fn delete(&self, table: Table, key: &[u8]) -> Result<bool, StoreError> {
        self.change(|txn| table.delete(txn, key))
    }

    pub fn clear(&self, table: Table) -> Result<(), StoreError> {
        self.change(|txn| table.clear(txn))
    }

    /// End a snapshot; a change continues.
    pub fn close(&self) {
        let mut moment = self.locked();
        if let TransactionState::Reading(_) = &*moment {
            *moment = TransactionState::Ended;
        }
    }

    /// Undo a change that has not ended; only the call that began it may do so.
    pub fn undo(&self) {
        *self.locked() = TransactionState::Ended;
    }

    pub fn commit(&self) -> Result<(), StoreError> {
        match std::mem::replace(&mut *self.locked(), TransactionState::Ended) {
            TransactionState::Writing(change) => change.txn.commit(),
            _ => Err(StoreError::Ended),
        }
    }

    /// Return true if any write found no room in the map, even if the caller ignored its error.
    pub fn is_cut_short(&self) -> bool {
        matches!(&*self.locked(), TransactionState::Writing(change) if change.txn.is_cut_short())
    }

    /// Run `write` in a change, in the thread that makes it, and return its result; `write` must not use this
    /// transaction.
    pub fn change<T, E: From<StoreError>>(
        &self,
        write: impl FnOnce(&mut WriteTxn<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut moment = self.locked();
        let change = match &mut *moment {
            TransactionState::Writing(change) => change,
            TransactionState::Reading(_) => return Err(StoreError::ReadOnly.into()),
            TransactionState::Ended => return Err(StoreError::Ended.into()),
        };
        change.seen()?;
        write(&mut change.txn)
    }

    fn locked(&self) -> MutexGuard<'_, TransactionState> {
        held(&self.0)
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
