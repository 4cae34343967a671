//! Replay of a stored block's transactions from the state before the block.

use alloy_consensus::{Header, Transaction as _, TxEnvelope};
use alloy_eips::BlockNumHash;
use alloy_evm::{EvmEnv, FromRecoveredTx};
use alloy_primitives::{Address, B256};
use alloy_rpc_types_eth::TransactionInfo;
use revm::context::result::{EVMError, ResultAndState};
use revm::context::TxEnv;
use revm::inspector::{InspectEvm, Inspector, NoOpInspector};
use revm::precompile::Precompiles;
use revm::ExecuteEvm;
use revm_inspectors::tracing::TracingInspectorConfig;

use super::flat::Position;
use super::options::TraceOptions;
use super::recorder::{RecordedTrace, TraceRecorder};
use super::run::{Stopped, TraceLimits, TracerRun};
use super::tracer::{Ended, TraceContext, Tracer};
use super::Traced;
use crate::chain::rows::{BodyRow, HeaderRow, Transaction};
use crate::error::Error;
use crate::evm::build::pending_state;
use crate::evm::call::database::commit;
use crate::evm::call::env::EvmResult;
use crate::evm::call::refusal;
use crate::evm::call::{build_evm, CallContext, CallState, Layer, WorkBudget};
use crate::evm::chain_spec::ChainSpec;
use crate::evm::environment::{evm_environment, precompiles};
use crate::state::{StateError, StateReader};

/// Transactions of a block, run one after the other.
#[derive(Debug)]
pub struct Replay<'a> {
    state: CallState<'a>,
    environment: EvmEnv,
    precompiles: &'static Precompiles,
    block_hash: B256,
    block_number: u64,
    transactions: Vec<TxEnvelope>,
    senders: Vec<Address>,
    hashes: &'a [u8],
    logs: usize,
}

/// Return the transactions of a block. System transactions are an error: their effects are unknown here.
fn signed(transactions: Vec<Transaction>) -> Result<Vec<TxEnvelope>, Error> {
    let unknown = StateError::Unproved("effects of system transactions");
    let signed = transactions.into_iter().map(|transaction| match transaction {
        Transaction::Signed(signed) => Some(signed),
        Transaction::System(_) => None,
    });
    signed.collect::<Option<_>>().ok_or(unknown.into())
}

impl<'a> Replay<'a> {
    /// Return the replay of a block after its system calls, before its first transaction.
    pub fn new(
        spec: &ChainSpec,
        reader: &'a StateReader,
        (header_row, body_row): (&[u8], &'a [u8]),
        work_budget: &'a WorkBudget,
    ) -> Result<Self, Error> {
        let row = HeaderRow::new(header_row)?;
        let header: Header = row.header()?;
        let parent = header.number.checked_sub(1).ok_or_else(|| Error::internal("genesis has no parent"))?;
        let cache = pending_state(spec, reader.at(BlockNumHash::new(parent, header.parent_hash))?, &header)?;
        let body = BodyRow::new(body_row)?;
        let mut environment = evm_environment(spec, &header);
        // The check of EIP-3607 is off because a development chain can impersonate contracts. No stored block
        // holds any other transaction from a contract.
        environment.cfg_env.disable_eip3607 = true;
        let transactions = signed(body.transactions()?)?;
        // An abandoned block of a development chain may be older than the chain id that its number has by
        // now, so the transactions' own id is used.
        if let Some(named) = transactions.iter().find_map(TxEnvelope::chain_id) {
            environment.cfg_env.chain_id = named;
        }
        Ok(Self {
            state: CallState::new(
                Layer::Cached(Box::new(cache)),
                work_budget,
                spec,
                environment.cfg_env.spec,
            ),
            precompiles: precompiles(spec, &environment),
            environment,
            block_hash: *row.hash(),
            block_number: header.number,
            transactions,
            senders: body.senders()?,
            hashes: body.transaction_hashes()?,
            logs: 0,
        })
    }

    pub fn len(&self) -> usize {
        self.transactions.len()
    }

    pub fn hash(&self, index: usize) -> B256 {
        B256::from_slice(&self.hashes[32 * index..32 * index + 32])
    }

    /// Run the transactions before `index`, and return false if the work budget stopped them.
    pub fn skip_to(&mut self, index: usize) -> Result<bool, Error> {
        for earlier in 0..index.min(self.len()) {
            if !self.skip(earlier)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Return the state after the transactions that have run.
    pub fn into_layer(self) -> Layer<'a> {
        self.state.layer
    }

    /// Run a transaction without an inspector, and return false if the work budget stopped it.
    pub fn skip(&mut self, index: usize) -> Result<bool, Error> {
        let transaction = self.transaction(index);
        let result = {
            let moved_precompiles = Vec::new();
            let mut evm = build_evm(
                &mut self.state,
                self.environment.clone(),
                self.precompiles,
                &moved_precompiles,
                NoOpInspector,
            )?;
            evm.transact(transaction.clone())
        };
        if self.state.work_budget.is_stopped() {
            return Ok(false);
        }
        self.keep(result.map_err(|error| self.refused(error, &transaction))?);
        Ok(true)
    }

    pub fn trace(
        &mut self,
        index: usize,
        options: &TraceOptions,
        limits: &TraceLimits,
    ) -> Result<Traced, Error> {
        let surroundings = self.surroundings(index);
        let Some(mut tracer) = Tracer::new(options, &surroundings) else {
            return Ok(Traced::UnknownTracer);
        };
        let transaction = self.transaction(index);
        tracer.prepare(&mut self.state, &transaction, surroundings.beneficiary);
        let mut run = TracerRun::new(tracer, limits, surroundings.precompiles);
        let result = self.inspect(&transaction, &mut run)?;
        if let Some(stopped) = run.clock.stopped {
            return Ok(Traced::Stopped(stopped));
        }
        if self.state.work_budget.is_stopped() {
            return Ok(Traced::Stopped(Stopped::Cancelled));
        }
        let result = result.map_err(|error| self.refused(error, &transaction))?;
        let mut text = Vec::new();
        let ended = Ended { transaction: &transaction, result: &result };
        run.tracer.finish(&mut text, &mut self.state, &surroundings, &ended);
        self.keep(result);
        Ok(Traced::Text(text))
    }

    /// Run a transaction and return its calls for Parity's traces. The caller commits its changes with
    /// `keep`.
    pub fn record(
        &mut self,
        index: usize,
        config: TracingInspectorConfig,
        limits: &TraceLimits,
    ) -> Result<Result<RecordedTrace, Stopped>, Error> {
        let mut recorder = TraceRecorder::new(config, limits);
        let transaction = self.transaction(index);
        let result = self.inspect(&transaction, &mut recorder)?;
        let Some(traces) = recorder.finish() else {
            return Ok(Err(recorder.clock.stopped.unwrap_or(Stopped::Cancelled)));
        };
        if self.state.work_budget.is_stopped() {
            return Ok(Err(Stopped::Cancelled));
        }
        Ok(Ok(RecordedTrace { traces, result: result.map_err(|error| self.refused(error, &transaction))? }))
    }

    fn inspect<I>(&mut self, transaction: &TxEnv, inspector: I) -> Result<EvmResult, Error>
    where
        I: for<'s> Inspector<CallContext<'s, 'a>>,
    {
        let moved_precompiles = Vec::new();
        let mut evm = build_evm(
            &mut self.state,
            self.environment.clone(),
            self.precompiles,
            &moved_precompiles,
            inspector,
        )?;
        Ok(evm.inspect_tx(transaction.clone()))
    }

    /// Return the state before the changes that are not committed yet.
    pub fn layer(&self) -> &Layer<'a> {
        &self.state.layer
    }

    /// Return the transaction's position, hash and block for its traces.
    pub fn transaction_info(&self, index: usize) -> TransactionInfo {
        TransactionInfo {
            hash: Some(self.hash(index)),
            index: Some(index as u64),
            block_hash: Some(self.block_hash),
            block_number: Some(self.block_number),
            ..TransactionInfo::default()
        }
    }

    /// Commit the changes of a transaction.
    pub fn keep(&mut self, result: ResultAndState) {
        self.logs += result.result.logs().len();
        if let Layer::Cached(cache) = &mut self.state.layer {
            commit(cache, result.state);
        }
    }

    /// Return the error of a transaction that the block could not include. Stored blocks have none; a
    /// caller's block may.
    fn refused(&self, error: EVMError<StateError>, transaction: &TxEnv) -> Error {
        match error {
            EVMError::Transaction(reason) => {
                refusal::of_transaction(&reason, transaction, self.environment.block_env.basefee)
            }
            EVMError::Database(error) => error.into(),
            other => Error::internal(other),
        }
    }

    fn transaction(&self, index: usize) -> TxEnv {
        TxEnv::from_recovered_tx(&self.transactions[index], self.senders[index])
    }

    fn surroundings(&self, index: usize) -> TraceContext {
        TraceContext {
            rules: self.environment.cfg_env.spec,
            precompiles: self.precompiles,
            beneficiary: self.environment.block_env.beneficiary,
            position: Position {
                block_hash: Some(self.block_hash),
                block_number: self.block_number,
                transaction_hash: Some(self.hash(index)),
                index,
            },
            first_log: self.logs,
        }
    }
}
