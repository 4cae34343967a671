//! geth's struct logs: every instruction with the stack, memory and storage before it.

use std::collections::BTreeMap;

use alloy_primitives::{Address, U256};
use revm::bytecode::opcode;
use revm::interpreter::interpreter_types::{InputsTr, Jumps, LoopControl, ReturnData};
use revm::interpreter::{FrameInput, InstructionResult, InterpreterAction};
use revm::primitives::hardfork::SpecId;

use super::fault::{self, StepCost};
use super::options::StepOptions;
use super::reading::{item, slot, storage, Frame, Slot};
use crate::evm::call::{opcode_name, CallContext};
use crate::json::traces;

/// Gas that pays for every write to a slot.
const DEAREST_WRITE: u64 = 22_101;

/// Writer of a struct log for each step as soon as its cost is known.
#[derive(Debug)]
pub struct Steps {
    options: StepOptions,
    rules: SpecId,
    logs: Vec<u8>,
    /// Length of the logs in bytes, which the caller's limit bounds.
    size: usize,
    storage: BTreeMap<Address, BTreeMap<U256, U256>>,
    /// Refunds of the frames below the current one.
    refunds: Vec<i64>,
    refund: i64,
    step: Step,
}

/// Instruction that has begun. `members` are the members of its log after the cost.
#[derive(Debug, Default)]
struct Step {
    is_logged: bool,
    opcode: u8,
    pc: u64,
    gas: u64,
    /// Gas for state that was taken from the gas for execution (EIP-8037).
    state_gas: u64,
    stack: Vec<U256>,
    memory: usize,
    slot: Option<Slot>,
    members: Vec<u8>,
}

impl Steps {
    pub fn new(options: StepOptions, rules: SpecId) -> Self {
        Self {
            options,
            rules,
            logs: Vec::new(),
            size: 0,
            storage: BTreeMap::new(),
            refunds: Vec::new(),
            refund: 0,
            step: Step::default(),
        }
    }

    /// Return the length of the text so far, in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    pub fn enter(&mut self) {
        self.refunds.push(self.refund);
    }

    pub fn exit(&mut self) {
        self.refund = self.refunds.pop().unwrap_or_default();
    }

    pub fn begin(&mut self, frame: &Frame, context: &mut CallContext<'_, '_>) {
        self.step.is_logged = self.options.limit == 0 || self.size as i64 <= self.options.limit;
        if !self.step.is_logged {
            return;
        }
        let step = &mut self.step;
        step.opcode = frame.bytecode.opcode();
        step.pc = frame.bytecode.pc() as u64;
        step.gas = frame.gas.remaining();
        step.state_gas = frame.gas.state_gas_spilled();
        step.memory = frame.memory.len();
        step.stack.clear();
        step.stack.extend_from_slice(frame.stack.data());
        step.slot = None;
        if step.opcode == opcode::SSTORE && step.gas < DEAREST_WRITE {
            let written = item(&step.stack, 1);
            step.slot = written.map(|key| slot(context, frame.input.target_address(), key));
        }
        step.members.clear();
        if !self.options.disable_stack {
            step.members.extend_from_slice(b",\"stack\":");
            traces::list(&mut step.members, &step.stack, traces::quantity);
        }
        self.write_surroundings(frame);
        if !self.options.disable_storage {
            self.write_storage(frame, context);
        }
    }

    fn write_surroundings(&mut self, frame: &Frame) {
        let members = &mut self.step.members;
        let returned = frame.return_data.buffer();
        if self.options.enable_return_data && !returned.is_empty() {
            members.extend_from_slice(b",\"returnData\":");
            traces::data(members, returned);
        }
        if self.options.enable_memory && self.step.memory > 0 {
            members.extend_from_slice(b",\"memory\":");
            traces::list(members, frame.memory.context_memory().chunks(32), traces::data);
        }
    }

    fn write_storage(&mut self, frame: &Frame, context: &mut CallContext<'_, '_>) {
        let address = frame.input.target_address();
        let stack = &self.step.stack;
        let entry = match self.step.opcode {
            opcode::SLOAD => item(stack, 1).map(|slot| (slot, storage(context, address, slot))),
            opcode::SSTORE => item(stack, 1).zip(item(stack, 2)),
            _ => None,
        };
        let Some((slot, value)) = entry else { return };
        let slots = self.storage.entry(address).or_default();
        slots.insert(slot, value);
        self.step.members.extend_from_slice(b",\"storage\":");
        traces::object(&mut self.step.members, slots.iter(), |members, (slot, value)| {
            traces::data(members, &slot.to_be_bytes::<32>());
            members.push(b':');
            traces::data(members, &value.to_be_bytes::<32>());
        });
    }

    pub fn end(&mut self, frame: &mut Frame) {
        let below = self.refunds.last().copied().unwrap_or_default();
        self.refund = below + frame.gas.refunded();
        if !self.step.is_logged {
            return;
        }
        // geth charges gas for state after it has reported the cost of the instruction to the tracer.
        let state_gas = frame.gas.state_gas_spilled().saturating_sub(self.step.state_gas);
        let spent = self.step.gas.saturating_sub(frame.gas.remaining()).saturating_sub(state_gas);
        let fault = match frame.bytecode.action() {
            Some(InterpreterAction::NewFrame(FrameInput::Create(create))) => {
                // geth counts the gas passed to a creation as the creation's own, not as the cost of the
                // instruction.
                return self.write(StepCost { cost: spent - create.gas_limit(), words: None });
            }
            Some(InterpreterAction::Return(result)) => self.fault(result.result, spent),
            _ => StepCost { cost: spent, words: None },
        };
        self.write(fault);
    }

    fn fault(&self, result: InstructionResult, spent: u64) -> StepCost {
        let step = fault::FaultingStep {
            opcode: self.step.opcode,
            gas: self.step.gas,
            stack: &self.step.stack,
            memory: self.step.memory,
            rules: self.rules,
            slot: self.step.slot,
        };
        fault::of(&step, result, spent)
    }

    fn write(&mut self, StepCost { cost, words }: StepCost) {
        let start = self.logs.len();
        if start > 0 {
            self.logs.push(b',');
        }
        let logs = &mut self.logs;
        logs.extend_from_slice(b"{\"pc\":");
        traces::decimal(logs, self.step.pc);
        logs.extend_from_slice(b",\"op\":\"");
        logs.extend_from_slice(opcode_name(self.step.opcode).as_bytes());
        logs.extend_from_slice(b"\",\"gas\":");
        traces::decimal(logs, self.step.gas);
        logs.extend_from_slice(b",\"gasCost\":");
        traces::decimal(logs, cost);
        logs.extend_from_slice(b",\"depth\":");
        traces::decimal(logs, self.refunds.len() as u64);
        if let Some(words) = words {
            logs.extend_from_slice(b",\"error\":");
            traces::string(logs, &words);
        }
        logs.extend_from_slice(&self.step.members);
        if self.refund > 0 {
            logs.extend_from_slice(b",\"refund\":");
            traces::decimal(logs, self.refund as u64);
        }
        logs.push(b'}');
        self.size += self.logs.len() - start;
    }

    /// Write the whole trace of a transaction.
    pub fn finish(self, text: &mut Vec<u8>, gas_used: u64, is_failed: bool, output: &[u8]) {
        text.extend_from_slice(b"{\"gas\":");
        traces::decimal(text, gas_used);
        text.extend_from_slice(if is_failed { b",\"failed\":true" } else { b",\"failed\":false" });
        text.extend_from_slice(b",\"returnValue\":");
        traces::data(text, output);
        text.extend_from_slice(b",\"structLogs\":[");
        text.extend_from_slice(&self.logs);
        text.extend_from_slice(b"]}");
    }
}
