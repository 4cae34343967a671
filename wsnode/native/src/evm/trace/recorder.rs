//! revm-inspectors' recorder within bounds, with self-destructions that it leaves out.

use alloy_primitives::{Address, U256};
use revm::bytecode::opcode;
use revm::context::result::ResultAndState;
use revm::inspector::Inspector;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::{InputsTr, Jumps, LegacyBytecode, LoopControl};
use revm::interpreter::{CallInputs, CallOutcome, CreateInputs, CreateOutcome, InstructionResult};
use revm::primitives::Log;
use revm_inspectors::tracing::{TracingInspector, TracingInspectorConfig};

use super::reading::{account, as_address, item, Frame};
use super::run::{Clock, TraceLimits};
use crate::evm::call::CallContext;

/// Approximate bytes of a call besides its input and output. `STEP_SIZE` is a step's, `WORD_SIZE` a pushed
/// word's.
const CALL_SIZE: usize = 512;
const STEP_SIZE: usize = 300;
const WORD_SIZE: usize = 68;

type Inner<'s, 'a> = dyn Inspector<CallContext<'s, 'a>, EthInterpreter>;

#[derive(Debug)]
pub struct RecordedTrace<R = ResultAndState> {
    pub traces: TracingInspector,
    pub result: R,
}

/// Recorder of calls and, if configured, of steps.
#[derive(Debug)]
pub struct TraceRecorder<'a> {
    pub clock: Clock<'a>,
    inner: TracingInspector,
    /// Approximate length of the recorded data as text, in bytes.
    size: usize,
    /// Contract, beneficiary and balance of a SELFDESTRUCT that has begun.
    destruct: Option<(Address, Address, U256)>,
}

impl<'a> TraceRecorder<'a> {
    pub fn new(config: TracingInspectorConfig, limits: &'a TraceLimits) -> Self {
        Self { clock: Clock::new(limits), inner: TracingInspector::new(config), size: 0, destruct: None }
    }

    /// Return the recorded data, or None if the recording was stopped.
    pub fn finish(&mut self) -> Option<TracingInspector> {
        (!self.clock.is_stopped()).then(|| std::mem::take(&mut self.inner))
    }

    fn has_steps(&self) -> bool {
        self.inner.config().record_steps
    }

    /// Return the approximate length in bytes of all recorded data as text, where a byte in memory takes two.
    fn total(&self) -> usize {
        self.size + 2 * self.inner.recorded_bytes()
    }
}

impl<'s, 'a> Inspector<CallContext<'s, 'a>, EthInterpreter> for TraceRecorder<'_> {
    fn initialize_interp(&mut self, frame: &mut Frame, context: &mut CallContext<'s, 'a>) {
        if self.has_steps() {
            self.size += 2 * frame.bytecode.bytecode_len();
        }
        self.inner.initialize_interp(frame, context);
    }

    fn step(&mut self, frame: &mut Frame, context: &mut CallContext<'s, 'a>) {
        self.clock.check(self.total());
        if self.clock.is_stopped() {
            return;
        }
        self.inner.step(frame, context);
        if self.has_steps() {
            self.size += STEP_SIZE + WORD_SIZE;
        }
        let heir = item(frame.stack.data(), 1).filter(|_| frame.bytecode.opcode() == opcode::SELFDESTRUCT);
        self.destruct = heir.map(|heir| {
            let contract = frame.input.target_address();
            (contract, as_address(heir), account(context, contract).balance)
        });
    }

    fn step_end(&mut self, frame: &mut Frame, context: &mut CallContext<'s, 'a>) {
        if self.clock.is_stopped() {
            return;
        }
        self.inner.step_end(frame, context);
        let is_done = frame.bytecode.instruction_result() == Some(InstructionResult::SelfDestruct);
        if let Some((contract, heir, balance)) = self.destruct.take().filter(|_| is_done) {
            let inner: &mut Inner<'s, 'a> = &mut self.inner;
            inner.selfdestruct(contract, heir, balance);
        }
    }

    fn call(&mut self, context: &mut CallContext<'s, 'a>, inputs: &mut CallInputs) -> Option<CallOutcome> {
        self.size += CALL_SIZE + 2 * inputs.input.len();
        self.inner.call(context, inputs)
    }

    fn call_end(
        &mut self,
        context: &mut CallContext<'s, 'a>,
        inputs: &CallInputs,
        outcome: &mut CallOutcome,
    ) {
        self.size += 2 * outcome.result.output.len();
        self.inner.call_end(context, inputs, outcome);
    }

    fn create(
        &mut self,
        context: &mut CallContext<'s, 'a>,
        inputs: &mut CreateInputs,
    ) -> Option<CreateOutcome> {
        self.size += CALL_SIZE + 2 * inputs.init_code().len();
        self.inner.create(context, inputs)
    }

    fn create_end(
        &mut self,
        context: &mut CallContext<'s, 'a>,
        inputs: &CreateInputs,
        outcome: &mut CreateOutcome,
    ) {
        self.size += 2 * outcome.result.output.len();
        self.inner.create_end(context, inputs, outcome);
    }

    fn log(&mut self, _context: &mut CallContext<'s, 'a>, _log: Log) {}

    // revm derives this event from the changes of a destruction. Many destructions have none since Cancun, so
    // `step_end` records them.
    fn selfdestruct(&mut self, _contract: Address, _heir: Address, _balance: U256) {}
}
