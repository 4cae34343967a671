//! Messages that run one after another on one block, each as if it were the only one.
//!
//! What they have in common is made once: a read of the head and its header, the block's surroundings, and revm's
//! context, instructions and stacks, which take longer to make than a short call to run.

use alloy_evm::EvmEnv;
use alloy_primitives::{Bytes, TxKind, U256};
use revm::context::result::{ExecutionResult, Output};
use revm::inspector::NoOpInspector;
use revm::ExecuteEvm;

use super::evm::CallEvm;
use super::fees::Fees;
use super::scene::transaction;
use super::watch::effort;
use super::{evm, gas_cap, refusal, Message, Scene, Watch};
use crate::error::Error;

/// What bounds each of the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The gas that it may have, in gas limits of the block.
    pub gas_blocks: u64,
    /// The work that it may do, as `Watch` counts it.
    pub budget: u64,
}

/// A place where messages run that pay nothing and carry no value.
pub struct Series<'s, 'a> {
    evm: CallEvm<'s, 'a, NoOpInspector>,
    environment: EvmEnv,
    base_fee: Option<u64>,
    watch: &'a Watch,
    /// Whether a message was left to others: what revm has kept of it is not looked into.
    is_over: bool,
}

/// A longer output is left to those who know how long a reply may be.
const LONGEST_OUTPUT: usize = 64 * 1024;

impl<'s, 'a> Series<'s, 'a> {
    pub fn begin(scene: &'s mut Scene<'a>) -> Result<Self, Error> {
        let (base_fee, watch) = (scene.base_fee(), scene.state.watch);
        let environment = scene.free_environment();
        let evm = evm::build(&mut scene.state, environment.clone(), &<_>::default(), NoOpInspector)?;
        Ok(Self { evm, environment, base_fee, watch, is_over: false })
    }

    /// What `message` returns. None for all that is not a success within its limits, and for all after it:
    /// `Scene::run` says what becomes of them.
    pub fn run(&mut self, message: &Message, limits: Limits) -> Option<Bytes> {
        // It stays so if this returns nothing, or panics.
        if std::mem::replace(&mut self.is_over, true) {
            return None;
        }
        let fees = Fees::of(message, self.base_fee);
        if !(fees.cap.is_zero() && message.value.is_zero()) || message.to == TxKind::Create {
            return None;
        }
        refusal::check(message, &fees, &self.environment).ok()?;
        self.watch.renew(limits.budget);
        self.watch.tick(effort::of_copying(U256::from(message.input.len())));
        let cap = gas_cap(self.environment.block_env.gas_limit, limits.gas_blocks);
        let gas = message.gas.map_or(cap, |gas| gas.min(cap));
        let result = self.evm.transact(transaction(message, &fees, gas, self.environment.cfg_env.spec));
        let output = match result.ok()?.result {
            ExecutionResult::Success { output: Output::Call(output), .. } => output,
            _ => return None,
        };
        self.is_over = self.watch.is_stopped() || output.len() > LONGEST_OUTPUT;
        (!self.is_over).then_some(output)
    }
}
