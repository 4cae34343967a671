//! Lowest gas limit with which a message succeeds, by the same search as geth's: wallets compare the results.

use alloy_eips::eip4844::DATA_GAS_PER_BLOB;
use alloy_eips::eip7825::MAX_TX_GAS_LIMIT_OSAKA;
use alloy_primitives::U256;
use revm::primitives::hardfork::SpecId;
use revm::primitives::TxKind;

use super::overrides::OverrideScope;
use super::refusal::refuse;
use super::{CallEnv, CallSite, Message, Outcome, WorkBudget};
use crate::error::Error;
use crate::evm::rules::MAXIMUM_TRANSACTION_GAS;

const TRANSFER_GAS: u64 = 21_000;
const CALL_STIPEND: u64 = 2300;
/// Highest relative error of an estimate. Wallets add 20 % to an estimate anyway.
const ERROR_RATIO: f64 = 0.015;

/// Result of the search: a gas limit, or the outcome of a message that fails with any gas.
#[derive(Debug, PartialEq, Eq)]
pub enum Estimate {
    Gas(u64),
    Failed(Outcome),
}

/// End of a run, as far as the search needs it.
enum Attempt {
    Success { gas_used: u64, peak: u64 },
    Failure(Option<Outcome>),
    Interrupted(Outcome),
}

/// Return the lowest gas limit up to `gas_cap` with which `message` succeeds, within `ERROR_RATIO`.
///
/// Source: geth eth/gasestimator/gasestimator.go.
pub fn estimate(
    site: CallSite<'_>,
    message: &Message,
    gas_cap: u64,
    work_budget: &WorkBudget,
) -> Result<Estimate, Error> {
    match found(site, message, gas_cap, work_budget) {
        // A read of the state between two runs may exceed the budget, and then returns an error in place of
        // an outcome.
        Err(_) if work_budget.is_stopped() => {
            Ok(Estimate::Failed(Outcome::Interrupted { cancelled: work_budget.is_cancelled() }))
        }
        estimate => estimate,
    }
}

fn found(
    site: CallSite<'_>,
    message: &Message,
    gas_cap: u64,
    work_budget: &WorkBudget,
) -> Result<Estimate, Error> {
    let mut env = CallEnv::with_scope(site, OverrideScope::Header, work_budget)?.for_many_runs();
    let high = highest(&mut env, message, gas_cap)?;
    if is_transfer(&mut env, message)? {
        match attempt(&mut env, message, TRANSFER_GAS) {
            // From Amsterdam on, some transfers cost less than `TRANSFER_GAS` (EIP-2780).
            Ok(Attempt::Success { gas_used, .. }) => return Ok(Estimate::Gas(gas_used)),
            Ok(Attempt::Interrupted(outcome)) => return Ok(Estimate::Failed(outcome)),
            Ok(Attempt::Failure(_)) | Err(_) => {}
        }
    }
    match attempt(&mut env, message, high)? {
        Attempt::Success { gas_used, peak } => {
            let least = least_gas(&env, high, peak);
            search(&mut env, message, GasRange { low: gas_used - 1, high }, peak, least)
        }
        Attempt::Interrupted(outcome) => Ok(Estimate::Failed(outcome)),
        Attempt::Failure(Some(outcome)) if !is_out_of_gas(&outcome) => Ok(Estimate::Failed(outcome)),
        Attempt::Failure(_) => {
            Err(refuse("gas_allowance", format!("gas required exceeds allowance ({high})")))
        }
    }
}

fn is_out_of_gas(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Halt { reason, .. } if reason.starts_with("out of gas"))
}

fn is_transfer(env: &mut CallEnv<'_>, message: &Message) -> Result<bool, Error> {
    match message.to {
        TxKind::Call(target) if message.input.is_empty() => Ok(!env.has_code(target)?),
        _ => Ok(false),
    }
}

/// Return the maximum gas that the message can have, by its own limit or the block's, its sender's balance,
/// and `gas_cap`.
fn highest(env: &mut CallEnv<'_>, message: &Message, gas_cap: u64) -> Result<u64, Error> {
    let block_limit = env.environment.block_env.gas_limit;
    let mut high = message.gas.filter(|gas| *gas >= TRANSFER_GAS).unwrap_or(block_limit);
    let rules = env.environment.cfg_env.spec;
    if rules.is_enabled_in(SpecId::AMSTERDAM) {
        // From Amsterdam on, the cap of Osaka bounds execution gas alone (EIP-8037).
        high = high.min(MAXIMUM_TRANSACTION_GAS);
    } else if rules.is_enabled_in(SpecId::OSAKA) {
        high = high.min(MAX_TX_GAS_LIMIT_OSAKA);
    }
    let cap = env.fees(message).cap;
    if !cap.is_zero() {
        let allowance = spendable(env, message)? / cap;
        high = high.min(allowance.saturating_to());
    }
    Ok(high.min(gas_cap))
}

/// Return the sender's balance in wei, less the message's value and the fee for its blobs.
fn spendable(env: &mut CallEnv<'_>, message: &Message) -> Result<U256, Error> {
    let balance = env.balance(message.sender)?;
    if message.value >= balance {
        return Err(refuse("insufficient_funds", "insufficient funds for transfer"));
    }
    let left = balance - message.value;
    let blobs = message.blob_hashes.as_ref().map_or(0, Vec::len) as u64;
    if blobs == 0 || !env.environment.cfg_env.spec.is_enabled_in(SpecId::CANCUN) {
        return Ok(left);
    }
    let blob_fee =
        U256::from(blobs * DATA_GAS_PER_BLOB).saturating_mul(message.max_blob_fee.unwrap_or_default());
    if blob_fee >= left {
        return Err(refuse("insufficient_funds", "insufficient funds for gas * price + value"));
    }
    Ok(left - blob_fee)
}

/// Return the least gas with which a message succeeds, computed from its run with `high` gas. None if the
/// code of the message saw its gas, and from Amsterdam on: runs must then find the limit. A write to storage
/// fails unless more than the stipend is left (EIP-2200).
fn least_gas(env: &CallEnv<'_>, high: u64, peak: u64) -> Option<u64> {
    let rules = env.environment.cfg_env.spec;
    let at_write = env.state.work_budget.least_at_write()?;
    // From Amsterdam on, state has gas of its own, so the peak does not give the limit.
    if rules.is_enabled_in(SpecId::AMSTERDAM) {
        return None;
    }
    let is_kept = rules.is_enabled_in(SpecId::ISTANBUL) && at_write <= high;
    Some(if is_kept { peak.max(high - at_write + CALL_STIPEND + 1) } else { peak })
}

/// Search in a range of gas limits. Runs test a limit unless `least`, the least sufficient gas, is known.
fn search(
    env: &mut CallEnv<'_>,
    message: &Message,
    mut range: GasRange,
    peak: u64,
    least: Option<u64>,
) -> Result<Estimate, Error> {
    // The first run mostly shows the needed gas, so this limit is tried first. The factor is for nested
    // calls, which get at most 63 of 64 parts of the gas.
    let optimistic = (peak + CALL_STIPEND) * 64 / 63;
    if optimistic < range.high {
        if let Some(interrupted) = range.narrow(env, message, optimistic, least)? {
            return Ok(Estimate::Failed(interrupted));
        }
    }
    while !range.is_close() {
        if let Some(interrupted) = range.narrow(env, message, range.middle(), least)? {
            return Ok(Estimate::Failed(interrupted));
        }
    }
    Ok(Estimate::Gas(range.high))
}

/// Range of gas limits between the highest known to fail and the lowest known to succeed.
struct GasRange {
    low: u64,
    high: u64,
}

impl GasRange {
    fn is_close(&self) -> bool {
        self.low + 1 >= self.high || ((self.high - self.low) as f64 / self.high as f64) < ERROR_RATIO
    }

    /// Return the limit to try next, at most twice the low end. Nearly all messages need little more gas than
    /// they used.
    fn middle(&self) -> u64 {
        (self.low + (self.high - self.low) / 2).min(self.low.saturating_mul(2))
    }

    /// Narrow the range by a test of `gas`: by comparison if `least` is known, else by a run. Return the
    /// outcome of an interrupted run, else None.
    fn narrow(
        &mut self,
        env: &mut CallEnv<'_>,
        message: &Message,
        gas: u64,
        least: Option<u64>,
    ) -> Result<Option<Outcome>, Error> {
        if let Some(least) = least {
            *(if gas >= least { &mut self.high } else { &mut self.low }) = gas;
            return Ok(None);
        }
        match attempt(env, message, gas)? {
            Attempt::Success { .. } => self.high = gas,
            Attempt::Failure(_) => self.low = gas,
            Attempt::Interrupted(outcome) => return Ok(Some(outcome)),
        }
        Ok(None)
    }
}

fn attempt(env: &mut CallEnv<'_>, message: &Message, gas: u64) -> Result<Attempt, Error> {
    match env.run(message, gas) {
        Ok(Outcome::Success { gas_used, peak, .. }) => Ok(Attempt::Success { gas_used, peak }),
        Ok(outcome @ Outcome::Interrupted { .. }) => Ok(Attempt::Interrupted(outcome)),
        Ok(outcome) => Ok(Attempt::Failure(Some(outcome))),
        Err(Error::InvalidTransaction { kind: "intrinsic_gas", .. }) => Ok(Attempt::Failure(None)),
        Err(Error::InvalidTransaction { kind, message }) => {
            Err(Error::InvalidTransaction { kind, message: format!("failed with {gas} gas: {message}") })
        }
        Err(error) => Err(error),
    }
}
