//! State of one chain: its committed head, sealed blocks above it, and the block being applied.

use super::caches::code::CodeCache;
use super::caches::hashes::Hashes;
use super::changes::Outdated;
use super::delta::{Delta, TouchedState};
use super::environment::{Environment, Snapshot};
use super::layout::tables::{Head, Tables};
use super::overlay::Overlay;
use super::proved::Backing;
use super::reader::StateReader;
use super::StateError;
use crate::store::{self, WriteTxn};
use crate::trie::{NodeStore, StateTries, TrieError};
use alloy_primitives::B256;
use alloy_trie::EMPTY_ROOT_HASH;
use revm::database::BundleState;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Committed state in LMDB, with the latest blocks in memory on top.
#[derive(Debug)]
pub struct StateStore {
    pub(super) environment: Arc<Environment>,
    pub(super) writer: bool,
    pub(super) overlay: Overlay,
    pub(super) codes: Arc<CodeCache>,
    /// Tries of the latest state, behind a lock so that a root can be computed in the middle of a block while
    /// views read.
    pub(super) working: Mutex<Working>,
    /// Way back to an earlier state, not committed; the sealed blocks are on top of that state.
    pub(super) unwinding: Option<Unwinding>,
    /// Sealed blocks above the committed head, or above the target of `unwinding`, ascending.
    pub(super) sealed: Vec<Sealed>,
    /// Number of sealed blocks in the staged change; None if nothing is staged.
    pub(super) staged: Option<usize>,
    /// Last head that this process read or wrote; the default one in a reader.
    pub(super) committed: Head,
    /// Change list being pruned.
    pub(super) outdated: Option<Outdated>,
}

/// Function that writes a change in a transaction.
pub(super) type Write = dyn Fn(&mut WriteTxn<'_>, &Tables) -> Result<(), StateError> + Send + Sync;

/// Way back from the committed head to an earlier state.
#[derive(Clone)]
pub(super) struct Unwinding {
    pub(super) target: Head,
    /// Earlier values of the changes of later blocks, then of those of undone patches of the target.
    pub(super) before: Arc<[Delta; 2]>,
    /// Function that writes everything but the nodes of the tries.
    pub(super) write: Arc<Write>,
}

impl Unwinding {
    /// Take the tries of the committed head back, and return the state root.
    pub(super) fn apply(&self, snapshot: &Snapshot<'_>, working: &mut Working) -> Result<B256, TrieError> {
        working.apply(snapshot, &self.before[0])?;
        working.apply(snapshot, &self.before[1])
    }
}

impl fmt::Debug for Unwinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unwinding").field("target", &self.target).finish_non_exhaustive()
    }
}

/// Accepted block that is not committed.
#[derive(Debug)]
pub(super) struct Sealed {
    pub(super) head: Head,
    pub(super) delta: Delta,
}

/// Tries at the head, with the changes of an unfinished block.
#[derive(Debug)]
pub(super) struct Working {
    pub(super) tries: StateTries,
    pub(super) hashes: Hashes,
    open: OpenBlock,
}

/// Changes applied since the last seal.
#[derive(Debug, Default)]
struct OpenBlock {
    touched: TouchedState,
    applied: Option<Delta>,
    /// True if the tries differ from the head's.
    begun: bool,
}

impl Working {
    /// Return the tries of a committed head.
    pub(super) fn at(head: &Head) -> Mutex<Self> {
        let (hashes, open) = (Hashes::default(), OpenBlock::default());
        Mutex::new(Self { tries: StateTries::new(root_of(head)), hashes, open })
    }

    /// Apply a block's changes to the tries and return the state root.
    pub(super) fn apply(&mut self, store: &impl NodeStore, delta: &Delta) -> Result<B256, TrieError> {
        self.tries.apply(store, self.hashes.changes(delta))
    }
}

impl StateStore {
    /// Open the state in the tables of an open environment; they may be empty.
    pub fn open(
        environment: Arc<store::Environment>,
        tables: Tables,
        writer: bool,
        backing: Backing,
    ) -> Result<Self, StateError> {
        let environment = Environment::new(environment, tables, backing);
        // A reader reads the head with each read of the state, so that a damaged head does not keep the
        // reader from opening the rest.
        let head = if writer { environment.read()?.head } else { Head::default() };
        Ok(Self {
            environment: Arc::new(environment),
            writer,
            overlay: Overlay::default(),
            codes: Arc::default(),
            working: Working::at(&head),
            unwinding: None,
            sealed: Vec::new(),
            staged: None,
            committed: head,
            outdated: None,
        })
    }

    /// Return the hash of the genesis block that the store was initialised with; None before.
    pub fn genesis_hash(&self) -> Result<Option<B256>, StateError> {
        let snapshot = self.environment.read()?;
        snapshot.tables.genesis_hash(&snapshot.txn)
    }

    /// Return the head, sealed blocks included; for a reading process the committed head.
    pub fn head(&self) -> Head {
        if !self.writer {
            return self.committed_head().unwrap_or(self.committed);
        }
        self.sealed.last().map_or_else(|| self.base(), |sealed| sealed.head)
    }

    /// Return the block below the sealed ones.
    pub(super) fn base(&self) -> Head {
        self.unwinding.as_ref().map_or(self.committed, |unwinding| unwinding.target)
    }

    /// Return the last committed head, whichever process wrote it.
    pub fn committed_head(&self) -> Result<Head, StateError> {
        Ok(self.environment.read()?.head)
    }

    /// Return a reader of committed blocks, for use while this store is written to.
    pub fn reader(&self) -> StateReader {
        StateReader::new(self.environment.clone(), self.codes.clone())
    }

    /// Return the state root after the changes so far of an unfinished block.
    ///
    /// The changes stay in the tries alone until the block is applied as a whole or rolled back.
    pub fn intermediate_root(&self, changes: &BundleState) -> Result<B256, StateError> {
        let delta = Delta::of(changes, &self.latest())?;
        self.update_tries(delta)
    }

    /// Apply block `number`, the one after the head, and return its state root; `seal` accepts it.
    ///
    /// The changes are those of this block alone: their original values are the head's. Fail with `NotNext`
    /// for another number.
    pub fn apply(&mut self, number: u64, changes: &BundleState) -> Result<B256, StateError> {
        let head = self.head().number;
        if number != head + 1 {
            return Err(StateError::NotNext { head, found: number });
        }
        let delta = Delta::of(changes, &self.latest())?;
        self.update_tries(delta)
    }

    /// Accept the applied block as the head, to be committed later.
    pub fn seal(&mut self, head: Head) {
        let open = std::mem::take(&mut self.working_mut().open);
        let delta = open.applied.unwrap_or_default();
        self.overlay.add(&delta);
        self.sealed.push(Sealed { head, delta });
    }

    /// Undo the changes applied since the last seal.
    pub fn rollback(&mut self) -> Result<(), StateError> {
        let mut working = self.working();
        if working.open.begun {
            self.rebuild(&mut working)?;
        }
        Ok(())
    }

    /// Drop all that was not committed, staged or not, and return to the committed head.
    pub fn discard_uncommitted(&mut self) -> Result<(), StateError> {
        self.sealed.clear();
        (self.unwinding, self.staged, self.outdated) = (None, None, None);
        self.overlay = Overlay::default();
        self.committed = self.environment.read()?.head;
        self.working = Working::at(&self.committed);
        Ok(())
    }

    /// Bring the tries to the head's state changed by `delta`, whatever part of this block was applied
    /// before; return the root.
    fn update_tries(&self, delta: Delta) -> Result<B256, StateError> {
        let mut working = self.working();
        let updated = self.try_update(&mut working, &delta);
        match updated {
            Ok(_) => working.open.applied = Some(delta),
            // A failed update leaves the tries changed in part, so they are built again.
            Err(_) => self.rebuild(&mut working)?,
        }
        updated
    }

    fn try_update(&self, working: &mut Working, delta: &Delta) -> Result<B256, StateError> {
        if let Some(applied) = working.open.applied.take() {
            working.open.touched.add(&applied);
        }
        // Changes of an earlier call for this block that `delta` no longer contains are undone first.
        let view = self.latest();
        let before = working
            .open
            .touched
            .without(delta)
            .values(|address| view.account(*address), |address, slot| view.storage(*address, *slot))?;
        working.open.begun = true;
        let snapshot = self.environment.read()?;
        working.tries.apply(&snapshot, working.hashes.changes(&before))?;
        Ok(working.apply(&snapshot, delta)?)
    }

    /// Build the tries again from the last commit, which may or may not include the staged change.
    fn rebuild(&self, working: &mut Working) -> Result<(), StateError> {
        let snapshot = self.environment.read()?;
        let done = self.sealed.iter().position(|sealed| sealed.head == snapshot.head);
        let done = done.map_or(0, |place| place + 1);
        working.tries = StateTries::new(root_of(&snapshot.head));
        working.open = OpenBlock::default();
        if let Some(unwinding) = self.unwinding.as_ref().filter(|_| snapshot.head == self.committed) {
            unwinding.apply(&snapshot, working)?;
        }
        for (place, sealed) in self.sealed.iter().enumerate().skip(done) {
            working.apply(&snapshot, &sealed.delta)?;
            if self.staged == Some(place + 1) {
                working.tries.saved();
            }
        }
        Ok(())
    }

    fn working(&self) -> MutexGuard<'_, Working> {
        self.working.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn working_mut(&mut self) -> &mut Working {
        self.working.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn sealed_block(&self, number: u64) -> Option<Head> {
        let above = number.checked_sub(self.base().number + 1)?;
        Some(self.sealed.get(usize::try_from(above).ok()?)?.head)
    }
}

/// Return the state root of `head`; the root of an empty trie for an empty store's head.
pub(super) fn root_of(head: &Head) -> B256 {
    if head.state_root.is_zero() {
        EMPTY_ROOT_HASH
    } else {
        head.state_root
    }
}
