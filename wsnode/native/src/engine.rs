//! State of one chain for one process: a writer's store behind a lock, and readers that never wait for it.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloy_primitives::{Bytes, B256, U256};
use revm::database::CacheState;

use crate::chain::rows::{BodyRow, HeaderRow};
use crate::error::{Error, InvalidBlock, Rule, RuleViolation};
use crate::evm::block::UnverifiedBlock;
use crate::evm::build::{
    build_block, build_next, try_block, Base, BlockAttributes, BuiltBlock, Candidate, Parent, Refused,
};
use crate::evm::call::{CallSite, ConsoleLog, Layer, Overrides};
use crate::evm::chain_spec::ChainSpec;
use crate::evm::execute::{
    self, invalid, verify_receipts, AccessList, Applied, ChainHead, Execution, ReadCache,
};
use crate::evm::rules::{verify_body, Ancestor, Chosen, GENERATIONS};
use crate::state::{
    AccountPatch, Backing, BlockStates, Bounds, Durability, ForkBase, Head, StateError, StateReader,
    StateStore,
};
use crate::store::{file, FileError, StoreError};

/// Name of the subfolder for values that are known by proofs.
const PROVED: &str = "proved";

/// State of one chain in its own folder.
#[derive(Debug)]
pub struct Engine {
    pub spec: Arc<ChainSpec>,
    pub reader: StateReader,
    writer: Arc<Mutex<EngineWriter>>,
    /// Head with the blocks that are not committed, to be read while the writer is busy.
    head: Arc<Mutex<Head>>,
    is_writer: bool,
    /// Console messages of calls.
    pub console: Arc<ConsoleLog>,
    _lock: Option<Arc<File>>,
}

#[derive(Debug)]
struct EngineWriter {
    store: StateStore,
    cache: ReadCache,
    /// Hash of the block that was tried last on the head and is still applied to the state, and the block's
    /// cache entries.
    tried: Option<(B256, CacheState)>,
}

impl Engine {
    /// Open the state in the folder `path`. A writer takes the folder's lock, and writes the genesis state if
    /// the folder is empty. With `is_proved`, the state after every block is known by proofs alone.
    pub fn open(path: &Path, spec: Arc<ChainSpec>, is_writer: bool, is_proved: bool) -> Result<Self, Error> {
        let lock = if is_writer { Some(Arc::new(lock(path)?)) } else { None };
        let genesis = spec.genesis();
        let backing = match is_proved {
            true => Backing::PerBlock(BlockStates::open(&path.join(PROVED))?),
            false if genesis.elsewhere.is_some() => {
                Backing::ForkBase(ForkBase::open(&path.join(PROVED), genesis.head())?)
            }
            false => Backing::None,
        };
        let mut store = StateStore::open_on(path, is_writer, backing)?;
        if is_writer && genesis.elsewhere.is_some() {
            store.init_after(genesis.head())?;
        } else if is_writer {
            store.init_genesis(
                genesis.hash,
                genesis.alloc.iter().map(|(address, account)| (*address, account)),
            )?;
        }
        check_genesis(&store, &spec)?;
        let head = Arc::new(Mutex::new(store.head()));
        let reader = store.reader();
        let writer = Arc::new(Mutex::new(EngineWriter { store, cache: ReadCache::default(), tried: None }));
        Ok(Self { spec, reader, writer, head, is_writer, console: Arc::default(), _lock: lock })
    }

    /// Return the same chain with its reads fixed to the version of the last commit.
    pub fn pin(&self) -> Result<Self, Error> {
        Ok(Self {
            spec: self.spec.clone(),
            reader: self.reader.pin()?,
            writer: self.writer.clone(),
            head: self.head.clone(),
            is_writer: self.is_writer,
            console: self.console.clone(),
            _lock: self._lock.clone(),
        })
    }

    /// Return the head, blocks that are not committed included; for a reader, the committed head.
    pub fn head(&self) -> Result<Head, Error> {
        if !self.is_writer {
            return self.committed_head();
        }
        Ok(*held(&self.head))
    }

    /// Return the head on the disk, whichever process wrote it.
    pub fn committed_head(&self) -> Result<Head, Error> {
        Ok(self.reader.committed_head()?)
    }

    /// Check that the file of the state is where it was opened, and can be used or may soon be again after a
    /// failed write.
    pub fn require_usable(&self) -> Result<(), StoreError> {
        self.reader.require_usable()
    }

    /// Verify and execute `blocks` on top of the head, up to the first invalid one.
    pub fn execute(
        &self,
        blocks: &[Arc<UnverifiedBlock>],
        ancestors: &[Rows<'_>],
        total_difficulty: U256,
        chosen: Chosen,
    ) -> Result<Execution, Error> {
        let head = ChainHead { chosen, ..chain_head(ancestors, total_difficulty)? };
        self.write(|EngineWriter { store, cache, .. }| {
            execute::execute(&self.spec, store, cache, blocks, head)
        })
    }

    /// Return the first rule without execution that `block` breaks, or None.
    pub fn verify_header(
        &self,
        block: &UnverifiedBlock,
        ancestors: &[Rows<'_>],
        total_difficulty: U256,
        chosen: Chosen,
    ) -> Result<Option<InvalidBlock>, Error> {
        let head = ChainHead { chosen, ..chain_head(ancestors, total_difficulty)? };
        let verified = head.verify(&self.spec, block);
        Ok(verified.err().map(|violation| violation.in_block(Some(block.header.number), Some(block.hash))))
    }

    /// Verify and execute `block` on any committed or built `parent`, and return the built block. The stored
    /// state does not change.
    ///
    /// `ancestors` begin with the parent. `changes` bounds the bytes of change lists between the head and the
    /// last committed ancestor.
    pub fn try_block(
        &self,
        block: &UnverifiedBlock,
        parent: Parent,
        ancestors: &[Rows<'_>],
        total_difficulty: U256,
        changes: usize,
    ) -> Result<Result<BuiltBlock, InvalidBlock>, Error> {
        let head = chain_head(ancestors, total_difficulty)?;
        if let Parent::Committed(parent) = parent {
            let committed = self.committed_head()?;
            if self.is_writer && committed.hash == parent.hash && self.head()? == committed {
                return self.try_on_head(block, &head);
            }
        }
        match try_block(&self.spec, &self.reader, parent, block, &head, Bounds::back(None, changes)) {
            Ok(built) => Ok(Ok(built)),
            Err(fault) => invalid(block, fault).map(Err),
        }
    }

    /// Try a block on the head with the writer's cache and keep it applied, because most such blocks are
    /// accepted next.
    fn try_on_head(
        &self,
        block: &UnverifiedBlock,
        head: &ChainHead,
    ) -> Result<Result<BuiltBlock, InvalidBlock>, Error> {
        self.write(|EngineWriter { store, cache, tried }| {
            match execute::apply(&self.spec, store, cache, block, head) {
                Ok(Applied { executed, entries }) => {
                    *tried = Some((block.hash, entries));
                    Ok(Ok(BuiltBlock::new(block, executed, None)))
                }
                Err(fault) => {
                    cache.clear();
                    store.rollback()?;
                    invalid(block, fault).map(Err)
                }
            }
        })
    }

    /// Put a built block on top of the head, which is its parent, without executing it again.
    pub fn accept(&self, built: &BuiltBlock) -> Result<(), Error> {
        let (hash, header) = (built.block.hash, &built.block.header);
        let head = Head { number: header.number, hash, state_root: header.state_root };
        self.write_after(|EngineWriter { store, cache, .. }, tried| {
            if store.head().hash != header.parent_hash {
                return Err(Error::internal("a block is accepted on another block than its parent"));
            }
            if let Some((_, entries)) = tried.filter(|(tried, _)| *tried == hash) {
                store.seal(head);
                cache.put(entries, &built.changes);
                return Ok(());
            }
            cache.clear();
            if store.apply(header.number, &built.changes)? != header.state_root {
                store.rollback()?;
                let words = "a block that was tried has another state root when it is accepted";
                return Err(Error::internal(words));
            }
            store.seal(head);
            Ok(())
        })
    }

    /// Write every executed block.
    pub fn commit(&self, durability: impl Into<Durability>) -> Result<(), Error> {
        self.write(|writer| Ok(writer.store.commit(durability)?))
    }

    /// Bring everything committed to the disk.
    pub fn sync_now(&self) -> Result<(), Error> {
        self.write(|writer| Ok(writer.store.sync_now()?))
    }

    /// Go back to block `number`, or to its earlier state `root`, and return the block's hash. Blocks that
    /// are not committed are dropped.
    pub fn unwind(&self, number: u64, root: Option<B256>) -> Result<B256, Error> {
        self.write(|EngineWriter { store, cache, .. }| {
            cache.clear();
            store.discard_uncommitted();
            Ok(store.unwind(number, root)?.hash)
        })
    }

    /// Delete the states before a committed block, looking at up to `most` values. Return whether there may
    /// be more.
    pub fn prune(&self, number: u64, most: usize, sync: bool) -> Result<bool, Error> {
        self.write_after(|writer, tried| {
            // The head is what it was.
            writer.tried = tried;
            Ok(writer.store.prune(number, most, sync)?)
        })
    }

    /// Change the state after the head, commit it, and return its new root.
    pub fn patch(&self, patches: &[AccountPatch], sync: bool) -> Result<B256, Error> {
        self.write(|EngineWriter { store, cache, .. }| {
            cache.clear();
            Ok(store.patch(patches, sync)?)
        })
    }

    /// Return the state below the first block, which comes from another chain and is known by proofs alone.
    pub fn base(&self) -> Result<&ForkBase, Error> {
        self.reader.base().ok_or_else(|| Error::internal("the whole state is here"))
    }

    /// Return the states after each block of a chain whose states are known by proofs alone.
    pub fn block_states(&self) -> Result<&BlockStates, Error> {
        self.reader.block_states().ok_or_else(|| Error::internal("states are not known by proofs here"))
    }

    /// Run `work` at a call site on the state of the block `base`.
    pub fn at_block<T>(
        &self,
        base: Base<'_>,
        overrides: Overrides,
        work: impl FnOnce(CallSite<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let (header, _, state) = base.read()?;
        let layer = Layer::Plain(self.reader.at(state)?);
        work(CallSite { spec: &self.spec, layer, header: &header, overrides })
    }

    /// Build the block after `parent`, a committed block. The stored state does not change.
    pub fn build_block(
        &self,
        parent: &Rows<'_>,
        attributes: &BlockAttributes,
        transactions: &[Candidate<'_>],
    ) -> Result<(BuiltBlock, Vec<Refused>), Error> {
        build_block(&self.spec, &self.reader, &ancestor(parent)?, attributes, transactions)
    }

    /// Build the block after the head, `parent`, with the writer's cache, and keep it applied until it is
    /// accepted.
    pub fn build_next(
        &self,
        parent: &Rows<'_>,
        attributes: &BlockAttributes,
        transactions: &[Candidate<'_>],
    ) -> Result<(BuiltBlock, Vec<Refused>), Error> {
        if self.reader.base().is_some() {
            // A run that goes on without what is unknown, so as to find all of it, must write nothing.
            return self.build_block(parent, attributes, transactions);
        }
        let parent = ancestor(parent)?;
        self.write(|EngineWriter { store, cache, tried }| {
            if store.head().hash != parent.hash {
                return Err(Error::internal("a block is built on another block than the head"));
            }
            match build_next(&self.spec, store, cache, &parent, attributes, transactions) {
                Ok((built, refused, entries)) => {
                    *tried = Some((built.block.hash, entries));
                    Ok((built, refused))
                }
                Err(error) => {
                    cache.clear();
                    store.rollback()?;
                    Err(error)
                }
            }
        })
    }

    fn write<T>(&self, work: impl FnOnce(&mut EngineWriter) -> Result<T, Error>) -> Result<T, Error> {
        self.write_after(|writer, _| work(writer))
    }

    /// Run `work` on the writer with the block that was tried last on the head. The state may no longer have
    /// it applied after.
    fn write_after<T>(
        &self,
        work: impl FnOnce(&mut EngineWriter, Option<(B256, CacheState)>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if !self.is_writer {
            return Err(Error::internal("the state was opened for reading only"));
        }
        let mut writer = self.intact_writer()?;
        let tried = writer.tried.take();
        let result = work(&mut writer, tried);
        *held(&self.head) = writer.store.head();
        result
    }

    /// Return the writer. A block that a panic left half applied is rolled back first.
    fn intact_writer(&self) -> Result<MutexGuard<'_, EngineWriter>, Error> {
        self.writer.lock().or_else(|poisoned| {
            let mut writer = poisoned.into_inner();
            writer.tried = None;
            writer.cache.clear();
            writer.store.rollback()?;
            self.writer.clear_poison();
            Ok(writer)
        })
    }
}

/// Return the block after checks of its body, receipts and access list against its header. The caller has
/// verified the header's hash. Nothing is executed.
pub fn verified_with_receipts(
    spec: &ChainSpec,
    block: &UnverifiedBlock,
    receipts: &[u8],
    access_list: Option<&[u8]>,
) -> Result<BuiltBlock, InvalidBlock> {
    verify_body(spec, block)
        .and_then(|()| verify_receipts(block, receipts))
        .and_then(|()| {
            let wrong =
                |reason| RuleViolation::new(Rule::ReceiptsRoot, "a receipt for each transaction", reason);
            block.with_receipts(receipts, verified_access_list(block, access_list)?).map_err(wrong)
        })
        .map(BuiltBlock::unexecuted)
        .map_err(|violation| violation.in_block(Some(block.header.number), Some(block.hash)))
}

fn verified_access_list(block: &UnverifiedBlock, rlp: Option<&[u8]>) -> Result<Option<Bytes>, RuleViolation> {
    let list = rlp.map(AccessList::decode).transpose()?;
    list.map(|list| list.verify(&block.header).map(|()| list.rlp)).transpose()
}

/// Header row and body row of a block.
pub type Rows<'a> = (&'a [u8], &'a [u8]);

fn chain_head(ancestors: &[Rows<'_>], total_difficulty: U256) -> Result<ChainHead, Error> {
    let ancestors: VecDeque<Ancestor> =
        ancestors.iter().take(GENERATIONS).map(ancestor).collect::<Result<_, _>>()?;
    Ok(ChainHead { ancestors, total_difficulty, chosen: Chosen::default() })
}

fn ancestor((header, body): &Rows<'_>) -> Result<Ancestor, Error> {
    let row = HeaderRow::new(header)?;
    Ok(Ancestor { header: row.header()?, hash: *row.hash(), ommers: BodyRow::new(body)?.ommers()? })
}

/// Take the lock that keeps a second writer out. It ends with the process.
fn lock(path: &Path) -> Result<File, Error> {
    file::make_folder(path).map_err(StateError::from)?;
    let lock = path.join("writer.lock");
    let opened = file::open_regular(&lock, OpenOptions::new().write(true).create(true));
    let file = opened.map_err(StateError::from)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Busy(path.display().to_string())),
        Err(TryLockError::Error(reason)) => Err(StateError::from(FileError::new(&lock, reason)).into()),
    }
}

fn check_genesis(store: &StateStore, spec: &ChainSpec) -> Result<(), Error> {
    let expected = spec.genesis_hash();
    match store.genesis_hash()? {
        Some(found) if found == expected => Ok(()),
        Some(found) => Err(StateError::OtherGenesis { expected, found }.into()),
        None => Err(StateError::NotInitialised.into()),
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
