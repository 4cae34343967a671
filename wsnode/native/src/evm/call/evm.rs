//! EVM of a call. It differs from revm's standard EVM in two points: it counts its work, and can stop at
//! every jump and call.

use alloy_evm::precompiles::PrecompilesMap;
use alloy_evm::{EvmEnv, MovePrecompileError};
use alloy_primitives::map::AddressSet;
use alloy_primitives::{Address, U256};
use revm::bytecode::opcode;
use revm::context::{
    BlockEnv, CfgEnv, Context, ContextError, ContextTr, Evm, FrameStack, JournalTr, LocalContextTr, TxEnv,
};
use revm::handler::instructions::EthInstructions;
use revm::handler::{EthFrame, PrecompileProvider};
use revm::inspector::Inspector;
use revm::interpreter::instructions::{arithmetic, contract, host, memory, system};
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::{
    CallInputs, Instruction, InstructionContext, InstructionExecResult, InstructionResult, InterpreterResult,
};
use revm::precompile::Precompiles;
use revm::primitives::hardfork::SpecId;
use revm::MainContext;

use super::database::CallState;
use super::halt::precompile_words;
use super::interrupt::cost;
use super::interrupt::CONSOLE;
use super::refusal::refuse;
use super::WorkBudget;
use crate::error::Error;
use crate::evm::environment::net_metering;

pub type CallContext<'s, 'a> = Context<BlockEnv, TxEnv, CfgEnv, &'s mut CallState<'a>>;
pub type Instructions<'s, 'a> = EthInstructions<EthInterpreter, CallContext<'s, 'a>>;
pub type CallEvm<'s, 'a, I> = MeteredEvm<'s, 'a, I, MeteredPrecompiles>;
pub type MeteredEvm<'s, 'a, I, P> = Evm<CallContext<'s, 'a>, I, Instructions<'s, 'a>, P, EthFrame>;
pub type Ictx<'c, 's, 'a> = InstructionContext<'c, CallContext<'s, 'a>, EthInterpreter>;

/// Return the EVM for one run on `state`.
///
/// # Errors
/// If an address in `moved_precompiles` is no precompiled contract.
pub fn build<'s, 'a, I>(
    state: &'s mut CallState<'a>,
    environment: EvmEnv,
    contracts: &'static Precompiles,
    moved_precompiles: &MovedPrecompiles,
    inspector: I,
) -> Result<CallEvm<'s, 'a, I>, Error>
where
    I: Inspector<CallContext<'s, 'a>>,
{
    let precompiles =
        moved(contracts, moved_precompiles).map_err(|MovePrecompileError::NotAPrecompile(address)| {
            refuse("overrides", format!("account {address} is not a precompile"))
        })?;
    Ok(build_with(
        state,
        environment,
        MeteredPrecompiles { precompiles, contracts, moved_precompiles: moved_precompiles.clone() },
        inspector,
    ))
}

/// Return the EVM for one run on `state`, with the caller's own precompiled contracts.
pub fn build_with<'s, 'a, I, P>(
    state: &'s mut CallState<'a>,
    environment: EvmEnv,
    precompiles: P,
    inspector: I,
) -> MeteredEvm<'s, 'a, I, P> {
    let rules = environment.cfg_env.spec;
    let is_net_metered = net_metering::is_in_force(&environment.cfg_env);
    let context =
        Context::mainnet().with_block(environment.block_env).with_cfg(environment.cfg_env).with_db(state);
    let mut evm = Evm {
        ctx: context,
        inspector,
        instruction: EthInstructions::new_mainnet_with_spec(rules),
        precompiles,
        // revm usually allocates eight frames in advance, each with a stack of 32 KB, which would cost more
        // than a short call.
        frame_stack: FrameStack::new(),
    };
    meter_instructions(&mut evm.instruction);
    if is_net_metered {
        net_metering::install(&mut evm.instruction);
    }
    evm
}

/// Pairs of a precompiled contract's address and the address to which it is moved.
pub type MovedPrecompiles = Vec<(Address, Address)>;

/// Return a map of the precompiled contracts, some of them moved.
fn moved(
    contracts: &'static Precompiles,
    moved_precompiles: &MovedPrecompiles,
) -> Result<PrecompilesMap, MovePrecompileError> {
    let mut map = PrecompilesMap::from_static(contracts);
    map.move_precompiles(moved_precompiles.iter().copied())?;
    Ok(map)
}

fn meter_instructions(instructions: &mut Instructions<'_, '_>) {
    let table = instructions.instruction_table_mut();
    table[opcode::JUMPDEST as usize] = Instruction::new(jumpdest);
    table[opcode::DIV as usize] = Instruction::new(div);
    table[opcode::SDIV as usize] = Instruction::new(sdiv);
    table[opcode::MOD as usize] = Instruction::new(rem);
    table[opcode::SMOD as usize] = Instruction::new(smod);
    table[opcode::ADDMOD as usize] = Instruction::new(addmod);
    table[opcode::MULMOD as usize] = Instruction::new(mulmod);
    table[opcode::EXP as usize] = Instruction::new(exp);
    table[opcode::SELFBALANCE as usize] = Instruction::new(selfbalance);
    table[opcode::KECCAK256 as usize] = Instruction::new(keccak256);
    table[opcode::CALLDATACOPY as usize] = Instruction::new(calldatacopy);
    table[opcode::CODECOPY as usize] = Instruction::new(codecopy);
    table[opcode::EXTCODECOPY as usize] = Instruction::new(extcodecopy);
    table[opcode::RETURNDATACOPY as usize] = Instruction::new(returndatacopy);
    table[opcode::MCOPY as usize] = Instruction::new(mcopy);
    table[opcode::CALL as usize] = Instruction::new(call::<{ opcode::CALL }>);
    table[opcode::CALLCODE as usize] = Instruction::new(call::<{ opcode::CALLCODE }>);
    table[opcode::DELEGATECALL as usize] = Instruction::new(call::<{ opcode::DELEGATECALL }>);
    table[opcode::STATICCALL as usize] = Instruction::new(call::<{ opcode::STATICCALL }>);
    table[opcode::GAS as usize] = Instruction::new(gas);
    table[opcode::BALANCE as usize] = Instruction::new(balance);
    table[opcode::SSTORE as usize] = Instruction::new(sstore);
    table[opcode::CREATE as usize] = Instruction::new(create::<false>);
    table[opcode::CREATE2 as usize] = Instruction::new(create::<true>);
}

fn jumpdest(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    spend(&mut context, 1)
}

fn div(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    spend(&mut context, cost::DIVISION)?;
    arithmetic::div(context)
}

fn sdiv(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    spend(&mut context, cost::DIVISION)?;
    arithmetic::sdiv(context)
}

fn rem(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    spend(&mut context, cost::DIVISION)?;
    arithmetic::rem(context)
}

fn smod(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    spend(&mut context, cost::DIVISION)?;
    arithmetic::smod(context)
}

fn addmod(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    spend(&mut context, cost::LONG_DIVISION)?;
    arithmetic::addmod(context)
}

fn mulmod(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    spend(&mut context, cost::LONG_DIVISION)?;
    arithmetic::mulmod(context)
}

fn exp(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    let bits = operand(&context, 1).bit_len();
    spend(&mut context, cost::of_power(bits))?;
    arithmetic::exp(context)
}

pub fn selfbalance(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    spend(&mut context, cost::OWN_BALANCE)?;
    // The sender's balance is reduced by the cost of its gas limit, so the code can derive the limit from it.
    work_budget_of(&context).note_gas_seen();
    host::selfbalance(context)
}

fn keccak256(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    let cost = cost::of_hashing(operand(&context, 1));
    spend(&mut context, cost)?;
    system::keccak256(context)
}

fn calldatacopy(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    let cost = cost::of_copying(operand(&context, 2));
    spend(&mut context, cost)?;
    system::calldatacopy(context)
}

fn codecopy(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    let cost = cost::of_copying(operand(&context, 2));
    spend(&mut context, cost)?;
    system::codecopy(context)
}

pub fn extcodecopy(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    let cost = cost::of_copying(operand(&context, 3));
    spend(&mut context, cost)?;
    host::extcodecopy(context)
}

fn returndatacopy(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    let cost = cost::of_copying(operand(&context, 2));
    spend(&mut context, cost)?;
    system::returndatacopy(context)
}

fn mcopy(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    let cost = cost::of_copying(operand(&context, 2));
    spend(&mut context, cost)?;
    memory::mcopy(context)
}

/// Return the item of the stack at `depth`, 0 for the top; zero if the stack is too short. The instruction
/// itself reports that fault.
pub fn operand(context: &Ictx<'_, '_, '_>, depth: usize) -> U256 {
    context.interpreter.stack.data().iter().rev().nth(depth).copied().unwrap_or_default()
}

pub fn call<const KIND: u8>(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    spend(&mut context, cost::CALL)?;
    // The called contract gets up to 63 of 64 parts of the remaining gas, so its result may depend on the gas
    // limit.
    work_budget_of(&context).note_gas_seen();
    contract::call::<KIND, _, _>(context)
}

pub fn create<const IS_CREATE2: bool>(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    let cost = cost::CALL.saturating_add(cost::of_hashing(operand(&context, 2)));
    spend(&mut context, cost)?;
    work_budget_of(&context).note_gas_seen();
    contract::create::<IS_CREATE2, _, _>(context)
}

fn gas(context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    work_budget_of(&context).note_gas_seen();
    system::gas(context)
}

pub fn balance(context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    work_budget_of(&context).note_gas_seen();
    host::balance(context)
}

fn sstore(context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    work_budget_of(&context).note_write(context.interpreter.gas.remaining());
    host::sstore(context)
}

fn work_budget_of<'c>(context: &'c Ictx<'_, '_, '_>) -> &'c WorkBudget {
    context.host.journaled_state.database.work_budget
}

#[inline]
fn spend(context: &mut Ictx<'_, '_, '_>, cost: u64) -> InstructionExecResult {
    let (gas, journal) = (&context.interpreter.gas, &context.host.journaled_state);
    if journal.database.work_budget.charge_gas(journal.depth(), gas.limit(), gas.remaining(), cost) {
        return Ok(());
    }
    // revm panics if a result is fatal and no error is set.
    context.host.error = Err(ContextError::Custom("stopped".into()));
    Err(InstructionResult::FatalExternalError)
}

/// Precompiled contracts whose work is charged. Contracts without an estimate of their work end a run with a
/// budget.
#[derive(Debug)]
pub struct MeteredPrecompiles {
    pub precompiles: PrecompilesMap,
    /// Precompiled contracts of the block, at their usual addresses.
    pub contracts: &'static Precompiles,
    pub moved_precompiles: MovedPrecompiles,
}

impl<'s, 'a> PrecompileProvider<CallContext<'s, 'a>> for MeteredPrecompiles {
    type Output = InterpreterResult;

    fn set_spec(&mut self, spec: SpecId) -> bool {
        PrecompileProvider::<CallContext<'s, 'a>>::set_spec(&mut self.precompiles, spec)
    }

    fn run(
        &mut self,
        context: &mut CallContext<'s, 'a>,
        inputs: &CallInputs,
    ) -> Result<Option<InterpreterResult>, String> {
        let work_budget = context.journaled_state.database.work_budget;
        let cost = || cost::of_precompile(self.origin(&inputs.bytecode_address), inputs, context);
        if work_budget.has_budget() && !cost().is_some_and(|cost| work_budget.charge(cost)) {
            work_budget.stop();
            return Err("stopped".into());
        }
        if inputs.bytecode_address == CONSOLE {
            work_budget.note_console_message(&inputs.input.as_bytes(context));
        }
        if self.precompiles.get(&inputs.bytecode_address).is_none() {
            return Ok(None);
        }
        let result = work_budget.during(|| self.precompiles.run(context, inputs))?;
        if work_budget.is_cancelled() {
            work_budget.stop();
            return Err("stopped".into());
        }
        let has_failed = |result: &InterpreterResult| result.result == InstructionResult::PrecompileError;
        if result.as_ref().is_some_and(has_failed) && context.journal().depth() == 1 {
            if let Some(words) = self.failure(context, inputs) {
                context.local.set_precompile_error_context(words.into());
            }
        }
        Ok(result)
    }

    fn warm_addresses(&self) -> &AddressSet {
        PrecompileProvider::<CallContext<'s, 'a>>::warm_addresses(&self.precompiles)
    }
}

impl MeteredPrecompiles {
    /// Return the original address of the precompiled contract that is now at `address`.
    fn origin<'p>(&'p self, address: &'p Address) -> &'p Address {
        self.moved_precompiles
            .iter()
            .find(|(_, target)| target == address)
            .map_or(address, |(source, _)| source)
    }

    /// Return the reason why a precompiled contract failed, from a second run: the map does not pass it on.
    fn failure(&self, context: &mut CallContext<'_, '_>, inputs: &CallInputs) -> Option<&'static str> {
        let contract = self.contracts.get(&inputs.bytecode_address)?;
        let work_budget = context.journaled_state.database.work_budget;
        let input = inputs.input.as_bytes(context);
        let output = work_budget.during(|| contract.execute(&input, inputs.gas_limit, inputs.reservoir));
        output.ok()?.halt_reason().map(precompile_words)
    }
}
