//! Messages that run one after another on one block, each on the same unchanged state.
//!
//! Their common parts are made once: the read of the head and its header, the block's environment, and revm's
//! context, instructions and stacks. These take longer to make than a short call to run.

use alloy_evm::EvmEnv;
use alloy_primitives::{Bytes, TxKind, U256};
use revm::context::result::{ExecutionResult, Output};
use revm::inspector::NoOpInspector;
use revm::ExecuteEvm;

use super::env::transaction;
use super::evm::CallEvm;
use super::fees::Fees;
use super::interrupt::cost;
use super::{evm, gas_cap, refusal, CallEnv, Message, WorkBudget};
use crate::error::Error;

/// Limits of each message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// Highest gas of a message, as a multiple of the block's gas limit.
    pub gas_blocks: u64,
    /// Highest work of a message, as counted by `WorkBudget`.
    pub budget: u64,
}

/// Environment for messages that pay nothing and carry no value.
pub struct CallBatch<'s, 'a> {
    evm: CallEvm<'s, 'a, NoOpInspector>,
    environment: EvmEnv,
    base_fee: Option<u64>,
    work_budget: &'a WorkBudget,
    /// True after a message without an output here. The state of revm is unknown then, and no further message
    /// runs.
    is_over: bool,
}

/// Longest output in bytes that is returned. A longer one is left to `CallEnv::run`, whose caller knows the
/// bound of a reply.
const MAX_OUTPUT: usize = 64 * 1024;

impl<'s, 'a> CallBatch<'s, 'a> {
    pub fn begin(env: &'s mut CallEnv<'a>) -> Result<Self, Error> {
        let (base_fee, work_budget) = (env.base_fee(), env.state.work_budget);
        let environment = env.free_environment();
        let (contracts, moved_precompiles) = (env.precompiles, <_>::default());
        let evm =
            evm::build(&mut env.state, environment.clone(), contracts, &moved_precompiles, NoOpInspector)?;
        Ok(Self { evm, environment, base_fee, work_budget, is_over: false })
    }

    /// Return the output of `message` if it succeeds within its limits, else None. After a None every later
    /// message also returns None, and the caller runs them by `CallEnv::run`.
    pub fn run(&mut self, message: &Message, limits: CallLimits) -> Option<Bytes> {
        // The batch stays over if this function returns None or panics.
        if std::mem::replace(&mut self.is_over, true) {
            return None;
        }
        let fees = Fees::of(message, self.base_fee);
        if !(fees.cap.is_zero() && message.value.is_zero()) || message.to == TxKind::Create {
            return None;
        }
        refusal::check(message, &fees, &self.environment).ok()?;
        self.work_budget.renew(limits.budget);
        self.work_budget.charge(cost::of_copying(U256::from(message.input.len())));
        let cap = gas_cap(self.environment.block_env.gas_limit, limits.gas_blocks);
        let gas = message.gas.map_or(cap, |gas| gas.min(cap));
        let result = self.evm.transact(transaction(message, &fees, gas, self.environment.cfg_env.spec));
        let output = match result.ok()?.result {
            ExecutionResult::Success { output: Output::Call(output), .. } => output,
            _ => return None,
        };
        // A message that has called the console is left to `CallEnv::run`, and its caller keeps the console
        // messages.
        self.is_over = self.work_budget.is_stopped()
            || self.work_budget.has_console_messages()
            || output.len() > MAX_OUTPUT;
        (!self.is_over).then_some(output)
    }
}
