//! Environment in which messages run: the state and the header of a block, for one run or many.

use alloy_consensus::Header;
use alloy_eips::eip7702::SignedAuthorization;
use alloy_evm::EvmEnv;
use alloy_primitives::{Address, U256};
use revm::context::either::Either;
use revm::context::result::{EVMError, ExecutionResult, HaltReason, Output, ResultAndState};
use revm::context::{Cfg, TxEnv};
use revm::inspector::{InspectEvm, Inspector, NoOpInspector};
use revm::precompile::Precompiles;
use revm::primitives::hardfork::SpecId;
use revm::primitives::TxKind;
use revm::{Database, ExecuteEvm};

use super::database::{CallState, Layer};
use super::diagnosis::LastStep;
use super::evm::{CallContext, CallEvm, MovedPrecompiles};
use super::fees::Fees;
use super::interrupt::cost;
use super::overrides::OverrideScope;
use super::{evm, halt, refusal, Message, Outcome, Overrides, WorkBudget};
use crate::error::Error;
use crate::evm::chain_spec::ChainSpec;
use crate::evm::environment::{evm_environment, precompiles};
use crate::state::StateError;

/// Result of the EVM for one run.
pub type EvmResult = Result<ResultAndState, EVMError<StateError>>;

/// Bound of a run's memory, in bytes, which 30 billion gas pay for. Some chains' gas limits are too high to
/// bound memory.
const MEMORY_LIMIT: u64 = 128 << 20;

/// Place of a call: the state of a block, the header that the message sees, and the overrides of the caller.
#[derive(Debug)]
pub struct CallSite<'a> {
    pub spec: &'a ChainSpec,
    pub layer: Layer<'a>,
    pub header: &'a Header,
    pub overrides: Overrides,
}

/// Environment of a call with its overrides applied.
#[derive(Debug)]
pub struct CallEnv<'a> {
    pub state: CallState<'a>,
    pub environment: EvmEnv,
    /// Precompiled contracts of the block, at their usual addresses.
    pub precompiles: &'static Precompiles,
    moved_precompiles: MovedPrecompiles,
    base_fee: Option<u64>,
}

impl<'a> CallEnv<'a> {
    pub fn new(site: CallSite<'a>, work_budget: &'a WorkBudget) -> Result<Self, Error> {
        Self::with_scope(site, OverrideScope::Context, work_budget)
    }

    /// Return the environment of messages that see the block's overridden members as far as `scope`.
    pub fn with_scope(
        site: CallSite<'a>,
        scope: OverrideScope,
        work_budget: &'a WorkBudget,
    ) -> Result<Self, Error> {
        let CallSite { spec, layer, header, overrides } = site;
        if overrides.is_empty() {
            return Ok(Self::without_overrides(spec, layer, header, work_budget));
        }
        let (environment, base_fee) = overrides.surroundings(spec, header, scope)?;
        let mut env = Self::with_evm_env(spec, layer, environment, base_fee, work_budget).for_many_runs();
        if overrides.number().is_some() {
            env.state.named_below = header.number;
        }
        let size = U256::from(overrides.code_length());
        work_budget.charge(cost::of_copying(size).saturating_add(cost::of_values(overrides.values())));
        env.moved_precompiles = overrides.apply(&mut env.state.layer)?;
        Ok(env)
    }

    /// Return the environment after a block, without overrides.
    pub fn without_overrides(
        spec: &ChainSpec,
        layer: Layer<'a>,
        header: &Header,
        work_budget: &'a WorkBudget,
    ) -> Self {
        Self::with_evm_env(spec, layer, evm_environment(spec, header), header.base_fee_per_gas, work_budget)
    }

    fn with_evm_env(
        spec: &ChainSpec,
        layer: Layer<'a>,
        mut environment: EvmEnv,
        base_fee: Option<u64>,
        work_budget: &'a WorkBudget,
    ) -> Self {
        loosen(&mut environment);
        environment.cfg_env.chain_id = spec.chain_id();
        let precompiles = precompiles(spec, &environment);
        let state = CallState::new(layer, work_budget, spec, environment.cfg_env.spec);
        Self { state, environment, precompiles, moved_precompiles: MovedPrecompiles::new(), base_fee }
    }

    /// Keep the values of each run in a cache for later runs.
    pub fn for_many_runs(mut self) -> Self {
        self.state.layer = self.state.layer.cached();
        self
    }

    pub fn fees(&self, message: &Message) -> Fees {
        Fees::of(message, self.base_fee)
    }

    /// Return the base fee of the block in wei per gas, or its override; None before London.
    pub fn base_fee(&self) -> Option<u64> {
        self.base_fee
    }

    /// Return the environment of a message that pays nothing for gas: its base fee is 0.
    pub fn free_environment(&self) -> EvmEnv {
        let mut environment = self.environment.clone();
        environment.block_env.basefee = 0;
        environment
    }

    /// Return the longest init code, in bytes. It is enforced from Shanghai on (EIP-3860).
    pub fn initcode_limit(&self) -> usize {
        self.environment.cfg_env.max_initcode_size()
    }

    pub fn balance(&mut self, address: Address) -> Result<U256, Error> {
        Ok(self.state.basic(address)?.map(|account| account.balance).unwrap_or_default())
    }

    pub fn has_code(&mut self, address: Address) -> Result<bool, Error> {
        let account = self.state.basic(address)?;
        Ok(account.is_some_and(|account| !account.is_empty_code_hash()))
    }

    pub fn nonce(&mut self, address: Address) -> Result<u64, Error> {
        Ok(self.state.basic(address)?.map(|account| account.nonce).unwrap_or_default())
    }

    /// Run `message` with `gas` and return the outcome. The state does not change.
    pub fn run(&mut self, message: &Message, gas: u64) -> Result<Outcome, Error> {
        self.run_prepared(message, gas, |_| ())
    }

    /// Run `message` with `gas` and return the outcome. `prepare` changes the EVM before the run.
    pub fn run_prepared(
        &mut self,
        message: &Message,
        gas: u64,
        prepare: impl for<'s> FnOnce(&mut CallEvm<'s, 'a, NoOpInspector>),
    ) -> Result<Outcome, Error> {
        let work_budget = self.state.work_budget;
        if !work_budget.charge(cost::of_copying(U256::from(message.input.len()))) || work_budget.is_stopped()
        {
            return Ok(self.interrupted());
        }
        work_budget.begin();
        let fees = self.fees(message);
        let environment = self.environment_for(message, &fees);
        refusal::check(message, &fees, &environment)?;
        match self.check_balance(message, &fees, gas) {
            Err(_) if work_budget.is_stopped() => return Ok(self.interrupted()),
            checked => checked?,
        }
        let transaction = self.transaction(message, &fees, gas)?;
        let result = {
            let mut evm = evm::build(
                &mut self.state,
                environment,
                self.precompiles,
                &self.moved_precompiles,
                NoOpInspector,
            )?;
            prepare(&mut evm);
            evm.transact(transaction)
        };
        self.outcome(result, message, gas)
    }

    pub fn run_inspected<I>(&mut self, message: &Message, gas: u64, inspector: I) -> Result<Outcome, Error>
    where
        I: for<'s> Inspector<CallContext<'s, 'a>>,
    {
        let result = self.inspect(message, gas, inspector, |_, _, _| ())?.0;
        self.outcome(result, message, gas)
    }

    /// Run `message` under `inspector` and return the result of the EVM, and the transaction that ran.
    /// `prepare` sees the inspector, the state and the transaction before the run.
    pub fn inspect<I>(
        &mut self,
        message: &Message,
        gas: u64,
        mut inspector: I,
        prepare: impl FnOnce(&mut I, &mut CallState<'a>, &TxEnv),
    ) -> Result<(EvmResult, TxEnv), Error>
    where
        I: for<'s> Inspector<CallContext<'s, 'a>>,
    {
        let fees = self.fees(message);
        let environment = self.environment_for(message, &fees);
        refusal::check(message, &fees, &environment)?;
        self.check_balance(message, &fees, gas)?;
        let transaction = self.transaction(message, &fees, gas)?;
        prepare(&mut inspector, &mut self.state, &transaction);
        let mut evm =
            evm::build(&mut self.state, environment, self.precompiles, &self.moved_precompiles, inspector)?;
        Ok((evm.inspect_tx(transaction.clone()), transaction))
    }

    fn transaction(&mut self, message: &Message, fees: &Fees, gas: u64) -> Result<TxEnv, Error> {
        let rules = self.environment.cfg_env.spec;
        let mut transaction = transaction(message, fees, gas, rules);
        if rules.is_enabled_in(SpecId::AMSTERDAM) && message.to == TxKind::Create {
            // The gas of a creation depends on whether an account exists at the address derived from the
            // nonce (EIP-2780).
            transaction.nonce = self.nonce(message.sender)?;
        }
        Ok(transaction)
    }

    /// Check that the sender can pay. The balance is read only if the message has a price, a value or blobs.
    fn check_balance(&mut self, message: &Message, fees: &Fees, gas: u64) -> Result<(), Error> {
        if fees.cap.is_zero() && message.value.is_zero() && message.blob_hashes.is_none() {
            return Ok(());
        }
        refusal::check_balance(message, fees, gas, self.balance(message.sender)?)
    }

    /// Return the environment for the message: the base fee is 0 for a message without a fee, and the blob
    /// base fee is 0 for blobs without one.
    fn environment_for(&self, message: &Message, fees: &Fees) -> EvmEnv {
        let mut environment = match fees.price.is_zero() {
            true => self.free_environment(),
            false => self.environment.clone(),
        };
        let is_free = message.max_blob_fee.unwrap_or_default().is_zero();
        if let (true, Some(_), Some(blobs)) =
            (is_free, &message.blob_hashes, &mut environment.block_env.blob_excess_gas_and_price)
        {
            blobs.blob_gasprice = 0;
        }
        environment
    }

    fn outcome(&mut self, result: EvmResult, message: &Message, gas: u64) -> Result<Outcome, Error> {
        if self.state.work_budget.is_stopped() {
            return Ok(self.interrupted());
        }
        let limit = self.initcode_limit();
        let result = result.map_err(|error| failure(error, message, limit))?.result;
        let gas_used = result.gas().tx_gas_used();
        Ok(match result {
            // The sender's nonce is the highest possible, so nothing was created and revm returns no address.
            ExecutionResult::Success { output: Output::Create(_, None), .. } => {
                let reason = halt::words(&HaltReason::NonceOverflow, LastStep::default());
                Outcome::Halt { reason, gas_used }
            }
            ExecutionResult::Success { gas, output, .. } => Outcome::Success {
                output: output.into_data(),
                gas_used,
                peak: gas.total_gas_spent().max(gas.floor_gas()),
            },
            ExecutionResult::Revert { output, .. } => Outcome::Revert { output, gas_used },
            ExecutionResult::Halt { reason, .. } => {
                let last = match halt::needs_last_step(&reason, message.to == TxKind::Create) {
                    true => match self.last_step(message, gas) {
                        // The second run had only the part of the budget that the first run left, so it may
                        // be interrupted.
                        Err(_) if self.state.work_budget.is_stopped() => return Ok(self.interrupted()),
                        last => last?,
                    },
                    false => LastStep::default(),
                };
                Outcome::Halt { reason: halt::words(&reason, last), gas_used }
            }
        })
    }

    fn interrupted(&self) -> Outcome {
        Outcome::Interrupted { cancelled: self.state.work_budget.is_cancelled() }
    }

    fn last_step(&mut self, message: &Message, gas: u64) -> Result<LastStep, Error> {
        let fees = self.fees(message);
        let environment = self.environment_for(message, &fees);
        let transaction = self.transaction(message, &fees, gas)?;
        let (limit, work_budget) = (environment.cfg_env.max_initcode_size(), self.state.work_budget);
        // The second run repeats all console messages, so those of the first run are kept aside.
        let console_messages = work_budget.take_console_messages();
        let mut evm = evm::build(
            &mut self.state,
            environment,
            self.precompiles,
            &self.moved_precompiles,
            LastStep::default(),
        )?;
        evm.inspect_tx(transaction).map_err(|error| failure(error, message, limit))?;
        work_budget.put_console_messages(console_messages);
        Ok(evm.inspector)
    }
}

/// Return the error of a message that did not run. `initcode_limit` is the longest init code, in bytes.
pub fn failure(error: EVMError<StateError>, message: &Message, initcode_limit: usize) -> Error {
    match error {
        EVMError::Transaction(reason) => refusal::from_revm(&reason, message, initcode_limit),
        EVMError::Database(error) => error.into(),
        other => Error::internal(other),
    }
}

/// Switch off the checks of transactions that calls need not pass: any account may call, with any nonce and
/// gas.
pub(crate) fn loosen(environment: &mut EvmEnv) {
    let settings = &mut environment.cfg_env;
    settings.disable_block_gas_limit = true;
    settings.disable_eip3607 = true;
    settings.disable_nonce_check = true;
    settings.tx_chain_id_check = false;
    if !settings.spec.is_enabled_in(SpecId::AMSTERDAM) {
        // From Amsterdam on, gas beyond the cap is for state (EIP-8037), so the cap refuses no transaction
        // and can stay.
        settings.tx_gas_limit_cap = Some(u64::MAX);
    }
    settings.max_blobs_per_tx = None;
    settings.memory_limit = MEMORY_LIMIT;
}

pub(crate) fn transaction(message: &Message, fees: &Fees, gas: u64, rules: SpecId) -> TxEnv {
    let from = |fork| rules.is_enabled_in(fork);
    let authorizations = message.authorizations.as_deref().filter(|_| from(SpecId::PRAGUE));
    let blob_hashes = message.blob_hashes.as_deref().filter(|_| from(SpecId::CANCUN));
    let access_list = message.access_list.clone().filter(|_| from(SpecId::BERLIN));
    let is_dynamic = fees.is_dynamic || authorizations.is_some() || blob_hashes.is_some();
    TxEnv {
        tx_type: match (&authorizations, &blob_hashes, &access_list) {
            (Some(_), _, _) => 4,
            (None, Some(_), _) => 3,
            (None, None, _) if is_dynamic => 2,
            (None, None, Some(_)) => 1,
            (None, None, None) => 0,
        },
        caller: message.sender,
        gas_limit: gas,
        // A balance that covers a larger price would exceed 256 bits.
        gas_price: fees.cap.saturating_to(),
        gas_priority_fee: is_dynamic.then(|| fees.tip.saturating_to()),
        kind: message.to,
        value: message.value,
        data: message.input.clone(),
        access_list: access_list.unwrap_or_default(),
        blob_hashes: blob_hashes.unwrap_or_default().to_vec(),
        max_fee_per_blob_gas: message.max_blob_fee.unwrap_or_default().saturating_to(),
        authorization_list: authorizations.unwrap_or_default().iter().map(authorization).collect(),
        chain_id: None,
        nonce: 0,
    }
}

fn authorization<R>(signed: &SignedAuthorization) -> Either<SignedAuthorization, R> {
    Either::Left(signed.clone())
}
