//! Messages run on a block's state and then forgotten: calls and gas estimates, by geth's rules.

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

/// How a message ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Success {
        output: Bytes,
        gas_used: u64,
        gas_refunded: u64,
        /// The gas used before refunds.
        peak: u64,
    },
    Revert {
        output: Bytes,
        gas_used: u64,
    },
    Halt {
        /// In geth's words.
        reason: String,
        gas_used: u64,
    },
    Interrupted {
        cancelled: bool,
    },
}

/// The gas that a call may have on a block: `blocks` times its limit.
///
/// At most 2^63 - 1, which development chains like as a gas limit: no 64 bits hold ten times that.
pub fn gas_cap(gas_limit: u64, blocks: u64) -> u64 {
    gas_limit.saturating_mul(blocks).min(i64::MAX as u64)
}

/// Run `message` in its place, with all the gas that it may have.
///
/// Its sender pays for it like that of a transaction, but any account may send it, with any nonce. Where it names no
/// price, gas is free and the base fee 0.
pub fn call(
    site: CallSite<'_>,
    message: &Message,
    gas_cap: u64,
    work_budget: &WorkBudget,
) -> Result<Outcome, Error> {
    let gas = message.gas.map_or(gas_cap, |gas| gas.min(gas_cap));
    CallEnv::new(site, work_budget)?.run(message, gas)
}
