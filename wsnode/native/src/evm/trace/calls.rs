//! geth's callTracer: calls, creations and self-destructions as a tree.

use alloy_primitives::{Address, Bytes, U256};
use revm::bytecode::opcode;
use revm::interpreter::interpreter_types::{InputsTr, Jumps, LoopControl};
use revm::interpreter::{
    CallInputs, CallScheme, CreateInputs, CreateScheme, InstructionResult, InterpreterAction,
    InterpreterResult,
};
use revm::precompile::Precompiles;
use revm::primitives::hardfork::SpecId;
use revm::primitives::Log;

use super::fault::{self, StepStart};
use super::reading::{account, as_address, item, Frame};
use crate::evm::call::{fault_words, precompile_words, revert_reason, CallContext, LastStep};
use crate::json::traces;

/// Approximate bytes in memory of a call besides its input and output.
const FRAME_SIZE: usize = 512;

/// Call of a contract, creation or self-destruction.
#[derive(Debug, Default)]
pub struct CallFrame {
    pub kind: &'static str,
    pub from: Address,
    pub to: Option<Address>,
    pub gas: u64,
    pub gas_used: u64,
    pub input: Bytes,
    pub output: Bytes,
    pub error: Option<String>,
    pub value: Option<U256>,
    pub calls: Vec<CallFrame>,
    logs: Vec<CallLog>,
    revert_reason: Option<String>,
    start: Option<StepStart>,
    last: LastStep,
    fault: Option<String>,
}

#[derive(Debug)]
struct CallLog {
    log: Log,
    index: usize,
    position: usize,
}

/// Builder of the tree of calls.
#[derive(Debug)]
pub struct Calls {
    only_top_call: bool,
    with_log: bool,
    /// Number of logs in the block before the run.
    first_log: usize,
    rules: SpecId,
    precompiles: &'static Precompiles,
    open: Vec<CallFrame>,
    depth: usize,
    destruct: Option<CallFrame>,
    size: usize,
}

impl Calls {
    pub fn new(
        only_top_call: bool,
        with_log: bool,
        first_log: usize,
        rules: SpecId,
        precompiles: &'static Precompiles,
    ) -> Self {
        Self {
            only_top_call,
            with_log,
            first_log,
            rules,
            precompiles,
            open: Vec::new(),
            depth: 0,
            destruct: None,
            size: 0,
        }
    }

    pub fn enter_call(&mut self, inputs: &CallInputs, input: Bytes) {
        let value = inputs.value.get();
        let (kind, from, value) = match inputs.scheme {
            CallScheme::Call => ("CALL", inputs.caller, Some(value)),
            CallScheme::CallCode => ("CALLCODE", inputs.caller, Some(value)),
            CallScheme::DelegateCall => ("DELEGATECALL", inputs.target_address, Some(value)),
            CallScheme::StaticCall => ("STATICCALL", inputs.caller, None),
        };
        let to = Some(inputs.bytecode_address);
        let gas = inputs.gas_limit;
        self.enter(CallFrame { kind, from, to, gas, input, value, ..Default::default() });
    }

    pub fn enter_create(&mut self, inputs: &CreateInputs, context: &mut CallContext<'_, '_>) {
        let kind = if matches!(inputs.scheme(), CreateScheme::Create) { "CREATE" } else { "CREATE2" };
        let nonce = account(context, inputs.caller()).nonce;
        self.enter(CallFrame {
            kind,
            from: inputs.caller(),
            to: Some(inputs.created_address(nonce)),
            gas: inputs.gas_limit(),
            input: inputs.init_code().clone(),
            value: Some(inputs.value()),
            ..Default::default()
        });
    }

    /// Return the bytes that are kept for the calls so far. Input costs a caller nearly nothing.
    pub fn size(&self) -> usize {
        self.size
    }

    fn enter(&mut self, frame: CallFrame) {
        if self.depth == 0 || !self.only_top_call {
            self.size += FRAME_SIZE + frame.input.len();
            self.open.push(frame);
        }
        self.depth += 1;
    }

    pub fn exit(&mut self, result: &InterpreterResult, precompile: Option<&str>) {
        self.depth = self.depth.saturating_sub(1);
        if self.only_top_call && self.depth > 0 {
            return;
        }
        let precompiles = self.precompiles;
        let Some(frame) = self.open.last_mut() else { return };
        frame.end(result, precompile, precompiles);
        self.size += frame.output.len();
        if self.depth > 0 {
            let frame = self.open.pop().unwrap_or_default();
            if let Some(parent) = self.open.last_mut() {
                parent.calls.push(frame);
            }
        }
    }

    pub fn begin(&mut self, frame: &Frame, context: &mut CallContext<'_, '_>) {
        let opcode = frame.bytecode.opcode();
        let stack = frame.stack.data();
        if let Some(open) = self.open.last_mut() {
            let (gas, second) = (frame.gas.remaining(), item(stack, 2).unwrap_or_default());
            open.start = Some(StepStart { opcode, gas, stack: stack.len(), rules: self.rules });
            open.last = LastStep { opcode, stack: stack.len(), second };
        }
        let beneficiary = stack.last().filter(|_| opcode == opcode::SELFDESTRUCT);
        self.destruct = beneficiary.map(|word| {
            let from = frame.input.target_address();
            CallFrame {
                kind: "SELFDESTRUCT",
                from,
                to: Some(as_address(*word)),
                value: Some(account(context, from).balance),
                ..Default::default()
            }
        });
    }

    pub fn end(&mut self, frame: &mut Frame) {
        if let Some(InterpreterAction::Return(result)) = frame.bytecode.action() {
            if let Some(open) = self.open.last_mut() {
                open.fault = open.start.and_then(|start| fault::words(&start, result.result));
            }
        }
        let Some(destruct) = self.destruct.take() else { return };
        let is_done = frame.bytecode.instruction_result() == Some(InstructionResult::SelfDestruct);
        if is_done && !self.only_top_call {
            if let Some(open) = self.open.last_mut() {
                open.calls.push(destruct);
            }
        }
    }

    pub fn log(&mut self, log: Log, context: &CallContext<'_, '_>) {
        if !self.with_log || (self.only_top_call && self.depth > 1) {
            return;
        }
        let count = context.journaled_state.inner.logs.len();
        let index = self.first_log + count.saturating_sub(1);
        if let Some(open) = self.open.last_mut() {
            let position = open.calls.len();
            open.logs.push(CallLog { log, index, position });
        }
    }

    /// Return the tree of a transaction with this gas limit, or None if the transaction never began.
    pub fn finish(mut self, gas_limit: u64, gas_used: u64) -> Option<CallFrame> {
        let mut root = self.open.pop()?;
        root.gas = gas_limit;
        root.gas_used = gas_used;
        root.forget_failed_logs(false);
        Some(root)
    }
}

impl CallFrame {
    fn end(&mut self, result: &InterpreterResult, precompile: Option<&str>, contracts: &Precompiles) {
        let end = result.result;
        let is_create = self.kind.starts_with("CREATE");
        self.gas_used = match () {
            () if end.is_ok() => result.gas.total_gas_spent(),
            // The caller of a reverted frame gets back the gas that was taken for state, because the state is
            // not kept (EIP-8037).
            () if end.is_revert() => result.gas.total_gas_spent() - result.gas.state_gas_spilled(),
            () => self.gas,
        };
        if end.is_ok() {
            self.output = result.output.clone();
            return;
        }
        let mut last = self.last;
        if end == InstructionResult::OutOfGas && !is_create {
            // Only a creation can run out of gas with its RETURN, for the storage of its code. Without the
            // opcode, a call gets the usual error.
            last.opcode = 0;
        }
        self.error = Some(match end {
            InstructionResult::Revert => "execution reverted".into(),
            InstructionResult::PrecompileError => {
                match precompile.or_else(|| self.precompile_words(contracts)) {
                    Some(words) => words.into(),
                    None => fault_words(end, last),
                }
            }
            other => self.fault.take().unwrap_or_else(|| fault_words(other, last)),
        });
        if is_create {
            self.to = None;
        }
        if end == InstructionResult::Revert && !result.output.is_empty() {
            self.output = result.output.clone();
            self.revert_reason = revert_reason(&result.output);
        }
    }

    /// Return the error of a precompiled contract in a nested call. The EVM reports only that of the
    /// outermost call.
    fn precompile_words(&self, contracts: &Precompiles) -> Option<&'static str> {
        let contract = contracts.get(&self.to?)?;
        contract.execute(&self.input, self.gas, 0).ok()?.halt_reason().map(precompile_words)
    }

    fn forget_failed_logs(&mut self, is_parent_failed: bool) {
        let is_failed = is_parent_failed || self.error.is_some();
        if is_failed {
            self.logs.clear();
        }
        self.calls.iter_mut().for_each(|call| call.forget_failed_logs(is_failed));
    }

    pub fn write(&self, text: &mut Vec<u8>) {
        text.extend_from_slice(b"{\"from\":");
        traces::data(text, self.from.as_slice());
        text.extend_from_slice(b",\"gas\":");
        traces::small_quantity(text, self.gas);
        text.extend_from_slice(b",\"gasUsed\":");
        traces::small_quantity(text, self.gas_used);
        if let Some(to) = &self.to {
            text.extend_from_slice(b",\"to\":");
            traces::data(text, to.as_slice());
        }
        text.extend_from_slice(b",\"input\":");
        traces::data(text, &self.input);
        if !self.output.is_empty() {
            text.extend_from_slice(b",\"output\":");
            traces::data(text, &self.output);
        }
        for (name, words) in [("error", &self.error), ("revertReason", &self.revert_reason)] {
            if let Some(words) = words {
                text.extend_from_slice(format!(",\"{name}\":").as_bytes());
                traces::string(text, words);
            }
        }
        self.write_inner(text);
        if let Some(value) = &self.value {
            text.extend_from_slice(b",\"value\":");
            traces::quantity(text, value);
        }
        text.extend_from_slice(format!(",\"type\":\"{}\"}}", self.kind).as_bytes());
    }

    fn write_inner(&self, text: &mut Vec<u8>) {
        if !self.calls.is_empty() {
            text.extend_from_slice(b",\"calls\":");
            traces::list(text, &self.calls, |text, call| call.write(text));
        }
        if !self.logs.is_empty() {
            text.extend_from_slice(b",\"logs\":");
            traces::list(text, &self.logs, |text, log| log.write(text));
        }
    }
}

impl CallLog {
    fn write(&self, text: &mut Vec<u8>) {
        text.extend_from_slice(b"{\"address\":");
        traces::data(text, self.log.address.as_slice());
        text.extend_from_slice(b",\"topics\":");
        traces::list(text, self.log.topics(), |text, topic| traces::data(text, topic.as_slice()));
        text.extend_from_slice(b",\"data\":");
        traces::data(text, &self.log.data.data);
        text.extend_from_slice(b",\"index\":");
        traces::small_quantity(text, self.index as u64);
        text.extend_from_slice(b",\"position\":");
        traces::small_quantity(text, self.position as u64);
        text.push(b'}');
    }
}
