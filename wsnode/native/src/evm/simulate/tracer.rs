//! Logs of a call, optionally with transfers of ether, and the last instruction of the call.

use alloy_primitives::{address, b256, Address, Bytes, Log, B256, U256};
use revm::bytecode::opcode;
use revm::inspector::Inspector;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::{InputsTr, Jumps, LoopControl};
use revm::interpreter::{
    CallInputs, CallOutcome, CallScheme, CreateInputs, CreateOutcome, InstructionResult, Interpreter,
};

use crate::evm::call::diagnosis::LastStep;
use crate::evm::call::evm::CallContext;

/// Topic of `Transfer(address,address,uint256)`. `ETHER` is the address for ether (ERC-7528).
const TRANSFER: B256 = b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
const ETHER: Address = address!("eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee");

/// Log with its number in the block; reverted logs have numbers too.
#[derive(Debug, Clone)]
pub struct NumberedLog {
    pub number: usize,
    pub log: Log,
}

/// Inspector of a block's calls.
#[derive(Debug, Default)]
pub struct SimulationTracer {
    pub traces_transfers: bool,
    pub last: LastStep,
    /// True if the sender of the next call has the highest nonce. After it comes 0, as in geth.
    pub wraps_nonce: bool,
    count: usize,
    /// Logs of each open frame. Those of the outermost frame stay after its end.
    frames: Vec<Vec<NumberedLog>>,
    /// Transfer of an account that executes SELFDESTRUCT, until the instruction ends.
    leaving: Option<Transfer>,
}

#[derive(Debug, Clone, Copy)]
struct Transfer {
    from: Address,
    to: Address,
    value: U256,
}

impl SimulationTracer {
    pub fn new(traces_transfers: bool) -> Self {
        Self { traces_transfers, ..Self::default() }
    }

    /// Return the logs of the call that ended, none if it failed.
    pub fn take_logs(&mut self) -> Vec<NumberedLog> {
        self.frames.drain(..).next().unwrap_or_default()
    }

    fn keep(&mut self, log: Log) {
        if let Some(frame) = self.frames.last_mut() {
            frame.push(NumberedLog { number: self.count, log });
            self.count += 1;
        }
    }

    fn transfer(&mut self, Transfer { from, to, value }: Transfer) {
        if self.traces_transfers && !value.is_zero() {
            let topics = vec![TRANSFER, from.into_word(), to.into_word()];
            let data = Bytes::copy_from_slice(&value.to_be_bytes::<32>());
            self.keep(Log::new_unchecked(ETHER, topics, data));
        }
    }

    fn end(&mut self, result: InstructionResult) {
        let is_outermost = self.frames.len() == 1;
        match (self.frames.pop(), self.frames.last_mut()) {
            (Some(logs), Some(parent)) if result.is_ok() => parent.extend(logs),
            (Some(logs), None) if is_outermost => {
                self.frames.push(if result.is_ok() { logs } else { Vec::new() });
            }
            _ => {}
        }
    }
}

impl Inspector<CallContext<'_, '_>> for SimulationTracer {
    fn step(&mut self, interpreter: &mut Interpreter<EthInterpreter>, context: &mut CallContext<'_, '_>) {
        let code = interpreter.bytecode.opcode();
        self.last.step(interpreter, context);
        if self.traces_transfers && code == opcode::SELFDESTRUCT {
            let from = interpreter.input.target_address();
            let account = context.journaled_state.state.get(&from);
            let value = account.map_or(U256::ZERO, |account| account.info.balance);
            let target = interpreter.stack.data().last();
            self.leaving = target.map(|to| Transfer { from, to: Address::from_word(B256::from(*to)), value });
        }
    }

    fn step_end(&mut self, interpreter: &mut Interpreter<EthInterpreter>, _: &mut CallContext<'_, '_>) {
        if let Some(transfer) = self.leaving.take() {
            if interpreter.bytecode.instruction_result() == Some(InstructionResult::SelfDestruct) {
                self.transfer(transfer);
            }
        }
    }

    fn log(&mut self, _: &mut CallContext<'_, '_>, log: Log) {
        self.keep(log);
    }

    fn call(&mut self, context: &mut CallContext<'_, '_>, inputs: &mut CallInputs) -> Option<CallOutcome> {
        if std::mem::take(&mut self.wraps_nonce) {
            if let Some(sender) = context.journaled_state.state.get_mut(&inputs.caller) {
                sender.info.nonce = 0;
            }
        }
        self.frames.push(Vec::new());
        if inputs.scheme == CallScheme::Call {
            let value = inputs.transfer_value().unwrap_or_default();
            self.transfer(Transfer { from: inputs.caller, to: inputs.target_address, value });
        }
        None
    }

    fn call_end(&mut self, _: &mut CallContext<'_, '_>, _: &CallInputs, outcome: &mut CallOutcome) {
        self.end(outcome.result.result);
    }

    fn create(
        &mut self,
        context: &mut CallContext<'_, '_>,
        inputs: &mut CreateInputs,
    ) -> Option<CreateOutcome> {
        self.frames.push(Vec::new());
        let creator = context.journaled_state.state.get(&inputs.caller());
        let nonce = creator.map_or(0, |account| account.info.nonce);
        let (from, to) = (inputs.caller(), inputs.created_address(nonce));
        self.transfer(Transfer { from, to, value: inputs.value() });
        None
    }

    fn create_end(&mut self, _: &mut CallContext<'_, '_>, _: &CreateInputs, outcome: &mut CreateOutcome) {
        self.end(outcome.result.result);
    }
}
