//! Calls and gas estimates by geth's rules: messages that run on a block's state and change nothing.

mod call_batch;
mod crypto;
pub(crate) mod database;
pub(crate) mod diagnosis;
pub(crate) mod env;
mod estimate;
pub(crate) mod evm;
pub(crate) mod fees;
pub(crate) mod halt;
mod interrupt;
mod message;
mod opcode_name;
mod overrides;
pub(crate) mod refusal;
mod revert_reason;
pub(crate) mod unsigned;

pub use call_batch::{CallBatch, CallLimits};
pub use crypto::install as install_crypto;
pub use database::{CallState, Layer};
pub use diagnosis::LastStep;
pub use env::{failure, CallEnv, CallSite};
pub use estimate::{estimate, Estimate};
pub use evm::{build as build_evm, CallContext};
pub use halt::{fault_words, precompile_words};
pub use interrupt::{ConsoleLog, ConsoleMessages, Read, Reads, WorkBudget};
pub use message::Message;
pub use opcode_name::opcode_name;
pub use overrides::{parse_patches, AccountChanges, Overrides, Slots};
pub use refusal::with_supplied_gas;
pub use revert_reason::{revert_message, revert_reason};

use alloy_primitives::Bytes;

use crate::error::Error;

/// End of a message's run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Success {
        output: Bytes,
        gas_used: u64,
        /// Gas used before refunds, but at least the floor of EIP-7623.
        peak: u64,
    },
    Revert {
        output: Bytes,
        gas_used: u64,
    },
    Halt {
        /// Reason in geth's words.
        reason: String,
        gas_used: u64,
    },
    Interrupted {
        cancelled: bool,
    },
}

/// Return the maximum gas that a call may have on a block: `blocks` times its gas limit, at most 2^63 - 1.
///
/// Development chains use 2^63 - 1 as a gas limit, and ten times as much exceeds 64 bits.
pub fn gas_cap(gas_limit: u64, blocks: u64) -> u64 {
    gas_limit.saturating_mul(blocks).min(i64::MAX as u64)
}

/// Run `message` at `site` with all the gas that it may have, and return the outcome.
///
/// The sender pays for gas as in a transaction, but any account may send the message, with any nonce. If the
/// message names no price, gas is free and the base fee is 0.
pub fn call(
    site: CallSite<'_>,
    message: &Message,
    gas_cap: u64,
    work_budget: &WorkBudget,
) -> Result<Outcome, Error> {
    let gas = message.gas.map_or(gas_cap, |gas| gas.min(gas_cap));
    CallEnv::new(site, work_budget)?.run(message, gas)
}
