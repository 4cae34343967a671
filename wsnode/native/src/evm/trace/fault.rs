//! geth's data on an instruction that fails: its gas cost, and the error if it does not run.

use alloy_primitives::U256;
use revm::bytecode::opcode::{self, OpCode};
use revm::interpreter::instructions::gas_table_spec;
use revm::interpreter::InstructionResult::{self, self as End};
use revm::primitives::hardfork::SpecId;

use super::reading::{item, Slot};
use crate::evm::call::{fault_words, LastStep};

const WORD_GAS: u64 = 3;
const LOG_GAS: u64 = 375;
const COLD_SLOAD: u64 = 2100;
const COLD_ACCOUNT: u64 = 2500;
const CALL_STIPEND: u64 = 2300;
const OUT_OF_GAS: &str = "out of gas";
const EARLY: &str = "out of gas: out of gas";
const DESTRUCT_GAS: u64 = 5000;
const COLD_ACCOUNT_ACCESS: u64 = 2600;
const NEW_ACCOUNT: u64 = 25_000;
const OVERFLOW: &str = "gas uint64 overflow";
const SENTRY: &str = "out of gas: not enough gas for reentrancy sentry";
const WRITE_PROTECTION: &str = "out of gas: write protection";

/// Cost of an instruction in gas, and the error if it did not run.
#[derive(Debug)]
pub struct StepCost {
    pub cost: u64,
    pub words: Option<String>,
}

/// Instruction, and the state before it.
#[derive(Debug)]
pub struct FaultingStep<'a> {
    pub opcode: u8,
    pub gas: u64,
    pub stack: &'a [U256],
    pub memory: usize,
    pub rules: SpecId,
    /// Slot that SSTORE would have changed.
    pub slot: Option<Slot>,
}

/// Return the cost and the error of `step`, which spent some gas and ended with `result`. As in geth, only an
/// instruction that does not run has an error.
pub fn of(step: &FaultingStep<'_>, result: InstructionResult, spent: u64) -> StepCost {
    let constant = constant(step.opcode, step.rules);
    let words = words(&StepStart::from(step), result);
    let cost = match (&words, result) {
        (None, End::OpcodeNotFound | End::NotActivated | End::InvalidFEOpcode) => 0,
        (None, End::OutOfOffset | End::StateChangeDuringStaticCall) => {
            let cost = constant + dynamic(step).unwrap_or_default();
            let words = (cost > step.gas).then(|| OUT_OF_GAS.into());
            return StepCost { cost, words };
        }
        (None, _) => spent,
        (Some(reason), End::OutOfGas | End::MemoryOOG | End::MemoryLimitOOG)
            if reason == OUT_OF_GAS && step.gas >= constant =>
        {
            return match dynamic(step) {
                Some(gas) => StepCost { cost: constant + gas, words },
                None => StepCost { cost: constant, words: Some(OVERFLOW.into()) },
            };
        }
        (Some(_), _) => constant,
    };
    StepCost { cost, words }
}

/// Members of a step from which its error follows.
#[derive(Debug, Clone, Copy)]
pub struct StepStart {
    pub opcode: u8,
    pub gas: u64,
    pub stack: usize,
    pub rules: SpecId,
}

impl From<&FaultingStep<'_>> for StepStart {
    fn from(step: &FaultingStep<'_>) -> Self {
        Self { opcode: step.opcode, gas: step.gas, stack: step.stack.len(), rules: step.rules }
    }
}

/// Return the error of an instruction that did not run, or None.
pub fn words(start: &StepStart, result: InstructionResult) -> Option<String> {
    let last = LastStep { opcode: start.opcode, stack: start.stack, ..LastStep::default() };
    match result {
        End::StackUnderflow | End::StackOverflow => Some(fault_words(result, last)),
        End::StateChangeDuringStaticCall | End::CallNotAllowedInsideStatic => {
            let runs = matches!(start.opcode, opcode::TSTORE | opcode::LOG0..=opcode::LOG4);
            let is_paid = start.gas >= constant(start.opcode, start.rules);
            (!runs).then(|| if is_paid { WRITE_PROTECTION } else { OUT_OF_GAS }.into())
        }
        End::OutOfGas
        | End::MemoryOOG
        | End::MemoryLimitOOG
        | End::InvalidOperandOOG
        | End::ReentrancySentryOOG => Some(out_of_gas(start, result, last)),
        _ => None,
    }
}

fn out_of_gas(start: &StepStart, result: InstructionResult, last: LastStep) -> String {
    // geth checks the stack before the gas.
    let is_known = OpCode::new(start.opcode).is_some_and(|known| start.stack < usize::from(known.inputs()));
    if is_known {
        return fault_words(End::StackUnderflow, last);
    }
    let has_constant = start.gas >= constant(start.opcode, start.rules);
    let is_sentry = start.opcode == opcode::SSTORE
        && start.gas <= CALL_STIPEND
        && start.rules.is_enabled_in(SpecId::ISTANBUL);
    match result {
        _ if is_sentry => SENTRY.into(),
        _ if has_constant && is_charged_early(start) => EARLY.into(),
        End::InvalidOperandOOG if has_constant => OVERFLOW.into(),
        _ => OUT_OF_GAS.into(),
    }
}

/// Return whether geth charges an instruction in parts. It then never knows the whole cost.
fn is_charged_early(start: &StepStart) -> bool {
    match start.opcode {
        opcode::CALL | opcode::CALLCODE | opcode::DELEGATECALL | opcode::STATICCALL => {
            start.rules.is_enabled_in(SpecId::BERLIN)
        }
        opcode::SELFDESTRUCT => {
            start.rules.is_enabled_in(SpecId::BERLIN) && start.gas < DESTRUCT_GAS + COLD_ACCOUNT_ACCESS
        }
        _ => false,
    }
}

/// Return the constant part of an instruction's cost in gas, as geth divides it.
fn constant(code: u8, rules: SpecId) -> u64 {
    let berlin = rules.is_enabled_in(SpecId::BERLIN);
    match code {
        opcode::SSTORE | opcode::EXP | opcode::RETURN | opcode::REVERT => 0,
        opcode::LOG0..=opcode::LOG4 => 0,
        opcode::SLOAD if berlin => 0,
        opcode::CREATE | opcode::CREATE2 => 32_000,
        opcode::SELFDESTRUCT if rules.is_enabled_in(SpecId::TANGERINE) => DESTRUCT_GAS,
        _ => u64::from(gas_table_spec(rules)[usize::from(code)]),
    }
}

/// Return the dynamic part of an instruction's cost in gas, or None beyond 64 bits.
fn dynamic(step: &FaultingStep<'_>) -> Option<u64> {
    let word = |depth| item(step.stack, depth).unwrap_or_default();
    let memory = |offset, size| expansion(step.memory, word(offset), word(size));
    let words = |depth| u64::try_from(word(depth)).ok().map(|size| size.div_ceil(32));
    match step.opcode {
        opcode::MLOAD | opcode::MSTORE => expansion(step.memory, word(1), U256::from(32)),
        opcode::MSTORE8 => expansion(step.memory, word(1), U256::from(1)),
        opcode::KECCAK256 => memory(1, 2)?.checked_add(words(2)?.checked_mul(6)?),
        opcode::CALLDATACOPY | opcode::CODECOPY | opcode::RETURNDATACOPY => {
            memory(1, 3)?.checked_add(words(3)?.checked_mul(WORD_GAS)?)
        }
        opcode::MCOPY => {
            let end = word(1).max(word(2));
            expansion(step.memory, end, word(3))?.checked_add(words(3)?.checked_mul(WORD_GAS)?)
        }
        opcode::EXTCODECOPY => {
            let copied = memory(2, 4)?.checked_add(words(4)?.checked_mul(WORD_GAS)?)?;
            let is_enough = step.gas >= constant(step.opcode, step.rules).checked_add(copied)?;
            Some(copied + if is_enough { COLD_ACCOUNT } else { 0 })
        }
        code @ opcode::LOG0..=opcode::LOG4 => {
            let topics = u64::from(code - opcode::LOG0);
            let content = u64::try_from(word(2)).ok()?.checked_mul(8)?;
            memory(1, 2)?.checked_add(LOG_GAS * (1 + topics))?.checked_add(content)
        }
        opcode::RETURN | opcode::REVERT => memory(1, 2),
        opcode::EXP => {
            let bytes = (word(2).bit_len() as u64).div_ceil(8);
            Some(10 + bytes * if step.rules.is_enabled_in(SpecId::SPURIOUS_DRAGON) { 50 } else { 10 })
        }
        opcode::CREATE => memory(2, 3)?.checked_add(initcode(step, words(3)?)),
        opcode::CREATE2 => {
            memory(2, 3)?.checked_add(words(3)?.checked_mul(6)?)?.checked_add(initcode(step, words(3)?))
        }
        opcode::SLOAD => Some(COLD_SLOAD),
        opcode::SELFDESTRUCT => Some(COLD_ACCOUNT_ACCESS + NEW_ACCOUNT),
        opcode::SSTORE => Some(step.slot.map_or(0, |slot| write_gas(&slot, word(2), step.rules))),
        opcode::BALANCE | opcode::EXTCODESIZE | opcode::EXTCODEHASH => Some(COLD_ACCOUNT),
        _ => Some(0),
    }
}

fn write_gas(slot: &Slot, new: U256, rules: SpecId) -> u64 {
    let berlin = rules.is_enabled_in(SpecId::BERLIN);
    let cold = if slot.is_cold && berlin { COLD_SLOAD } else { 0 };
    let (read, reset) = if berlin { (100, 2900) } else { (800, 5000) };
    if !rules.is_enabled_in(SpecId::ISTANBUL) {
        return if slot.present.is_zero() && !new.is_zero() { 20_000 } else { 5000 };
    }
    cold + match () {
        () if slot.present == new || slot.original != slot.present => read,
        () if slot.original.is_zero() => 20_000,
        () => reset,
    }
}

fn initcode(step: &FaultingStep<'_>, words: u64) -> u64 {
    if step.rules.is_enabled_in(SpecId::SHANGHAI) {
        2 * words
    } else {
        0
    }
}

/// Return the cost in gas of memory up to the end of a range, or None if it is too long.
fn expansion(memory: usize, offset: U256, size: U256) -> Option<u64> {
    if size.is_zero() {
        return Some(0);
    }
    let end = u64::try_from(offset.checked_add(size)?).ok()?;
    if end > 0x1f_ffff_ffe0 {
        return None;
    }
    let price = |words: u64| WORD_GAS * words + words * words / 512;
    let (before, after) = (memory as u64 / 32, end.div_ceil(32));
    Some(price(after.max(before)) - price(before))
}
