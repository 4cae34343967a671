//! State of one chain for one process: a writer's store behind a lock, and readers that never wait for it.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloy_eips::BlockNumHash;
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
    AccountPatch, Backing, BlockStates, Bounds, ForkBase, Head, Staged, StateError, StateReader, StateStore,
    Tables,
};
use crate::store::Environment;

/// State of one chain, in tables beside those of its rows.
#[derive(Debug)]
pub struct Engine {
    pub spec: Arc<ChainSpec>,
    pub reader: StateReader,
    writer: Arc<Mutex<EngineWriter>>,
    /// Head with the blocks that are not committed, to be read while the writer is busy.
    head: Arc<Mutex<Head>>,
    is_writer: bool,
    pub console: Arc<ConsoleLog>,
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
    /// Open the state in the tables of an environment. A writer's may be empty until `stage_genesis`.
    ///
    /// Values known by proofs are in the folder `proved`. With `is_proved`, the state after every block is
    /// known by proofs alone.
    pub fn open(
        (environment, tables): (Arc<Environment>, Tables),
        proved: &Path,
        spec: Arc<ChainSpec>,
        is_writer: bool,
        is_proved: bool,
    ) -> Result<Self, Error> {
        let genesis = spec.genesis();
        let backing = match is_proved {
            true => Backing::PerBlock(BlockStates::open(proved)?),
            false if genesis.elsewhere.is_some() => {
                Backing::ForkBase(ForkBase::open(proved, genesis.head())?)
            }
            false => Backing::None,
        };
        let store = StateStore::open(environment, tables, is_writer, backing)?;
        if is_writer {
            check_genesis(&store, &spec)?;
        }
        let head = Arc::new(Mutex::new(store.head()));
        let reader = store.reader();
        let writer = Arc::new(Mutex::new(EngineWriter { store, cache: ReadCache::default(), tried: None }));
        Ok(Self { spec, reader, writer, head, is_writer, console: Arc::default() })
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

    /// Stage the state of the genesis block; return None if the chain has begun.
    pub fn stage_genesis(&self) -> Result<Option<Staged>, Error> {
        let genesis = self.spec.genesis();
        self.write(|EngineWriter { store, .. }| match genesis.elsewhere.is_some() {
            true => Ok(store.stage_after(genesis.head())?),
            false => {
                let alloc = genesis.alloc.iter().map(|(address, account)| (*address, account));
                Ok(store.stage_genesis(genesis.hash, alloc)?)
            }
        })
    }

    /// Stage every executed block, after the way back if there is one; return None if there is no change.
    pub fn stage(&self) -> Result<Option<Staged>, Error> {
        self.write(|writer| Ok(writer.store.stage()?))
    }

    /// Take note that a staged change was committed.
    pub fn settle(&self, staged: &Staged) -> Result<(), Error> {
        self.write_after(|writer, tried| {
            // The head stays the same, so the block that was tried on it stays applied, unless it was discarded.
            let stays = writer.store.settle(staged)?;
            writer.tried = tried.filter(|_| stays);
            Ok(())
        })
    }

    /// Drop all that was not committed, staged or not.
    pub fn discard(&self) -> Result<(), Error> {
        self.write(|EngineWriter { store, cache, .. }| {
            cache.clear();
            Ok(store.discard_uncommitted()?)
        })
    }

    /// Drop all uncommitted changes, and go back to block `number`, or to its earlier state `root`, in memory
    /// until the change is staged and committed.
    pub fn rewind(&self, number: u64, root: Option<B256>) -> Result<(), Error> {
        self.write(|EngineWriter { store, cache, .. }| {
            cache.clear();
            store.rewind(number, root)?;
            Ok(())
        })
    }

    /// Stage the deletion of states before the first block of the chain, examining up to `most` values;
    /// return None if there are none.
    pub fn stage_pruning(&self, most: usize) -> Result<Option<Staged>, Error> {
        self.write_after(|writer, tried| {
            // The head stays the same, so the block that was tried on it stays applied.
            writer.tried = tried;
            Ok(writer.store.stage_pruning(most)?)
        })
    }

    /// Stage a change of the state after the head, and return its new root and the change.
    pub fn stage_patch(&self, patches: &[AccountPatch]) -> Result<(B256, Staged), Error> {
        self.write(|EngineWriter { store, cache, .. }| {
            cache.clear();
            Ok(store.stage_patch(patches)?)
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
        let parent = ancestor(parent)?;
        let state = committed(&parent);
        build_block(&self.spec, &self.reader, (&parent, &state), attributes, transactions)
    }

    /// Build the block after the head, `parent`, with the writer's cache, and keep it applied until it is
    /// accepted. `built` is the parent if it is not committed.
    pub fn build_next(
        &self,
        parent: &Rows<'_>,
        built: Option<Arc<BuiltBlock>>,
        attributes: &BlockAttributes,
        transactions: &[Candidate<'_>],
    ) -> Result<(BuiltBlock, Vec<Refused>), Error> {
        let parent = ancestor(parent)?;
        if self.reader.base().is_some() {
            // A run on a forked chain may read unknown values as empty, to find all of them. Such a run must
            // write nothing, so it does not use the writer.
            let state = built.map_or_else(|| committed(&parent), Parent::Built);
            return build_block(&self.spec, &self.reader, (&parent, &state), attributes, transactions);
        }
        self.write(|EngineWriter { store, cache, tried }| {
            if store.head().hash != parent.hash {
                return Err(Error::internal("a block is built on another block than the head"));
            }
            match build_next(&self.spec, store, cache, &parent, attributes, transactions) {
                Ok((block, refused, entries)) => {
                    *tried = Some((block.block.hash, entries));
                    Ok((block.rebased(built), refused))
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

fn committed(block: &Ancestor) -> Parent {
    Parent::Committed(BlockNumHash::new(block.header.number, block.hash))
}

fn ancestor((header, body): &Rows<'_>) -> Result<Ancestor, Error> {
    let row = HeaderRow::new(header)?;
    Ok(Ancestor { header: row.header()?, hash: *row.hash(), ommers: BodyRow::new(body)?.ommers()? })
}

fn check_genesis(store: &StateStore, spec: &ChainSpec) -> Result<(), Error> {
    let expected = spec.genesis_hash();
    match store.genesis_hash()? {
        Some(found) if found != expected => Err(StateError::OtherGenesis { expected, found }.into()),
        _ => Ok(()),
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
