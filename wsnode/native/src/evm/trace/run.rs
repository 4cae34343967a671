//! One traced run: its tracer, and the limits that end it early.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Instant;

use revm::inspector::Inspector;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::LegacyBytecode;
use revm::interpreter::{CallInputs, CallOutcome, CreateInputs, CreateOutcome};
use revm::precompile::Precompiles;
use revm::primitives::Log;

use super::reading::Frame;
use super::tracer::Tracer;
use crate::evm::call::CallContext;

/// Steps between two readings of the clock.
const STEPS: u32 = 1024;

/// Reason why a run was ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    Late,
    TooLarge,
    Cancelled,
}

#[derive(Debug, Clone)]
pub struct TraceLimits {
    pub seconds: f64,
    /// Longest text in bytes.
    pub size: usize,
    /// Flag that ends the run at its next jump or call.
    pub stop: Arc<AtomicBool>,
}

/// Check that ends a run beyond its time or its bytes.
#[derive(Debug)]
pub struct Clock<'a> {
    pub stopped: Option<Stopped>,
    limits: &'a TraceLimits,
    begun: Instant,
    steps: u32,
}

impl<'a> Clock<'a> {
    pub fn new(limits: &'a TraceLimits) -> Self {
        Self { stopped: None, limits, begun: Instant::now(), steps: 0 }
    }

    /// Check the time and the bytes kept so far, before a step. The bytes are checked at every step, because
    /// one step can keep megabytes of memory.
    pub fn check(&mut self, size: usize) {
        let stopped = match () {
            () if size > self.limits.size => Some(Stopped::TooLarge),
            () if self.steps.is_multiple_of(STEPS) && self.is_late() => Some(Stopped::Late),
            () => None,
        };
        self.steps = self.steps.wrapping_add(1);
        if let Some(stopped) = stopped {
            self.stopped.get_or_insert(stopped);
            self.limits.stop.store(true, Ordering::Relaxed);
        }
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    fn is_late(&self) -> bool {
        self.begun.elapsed().as_secs_f64() >= self.limits.seconds
    }
}

/// Inspector that passes a run's events to its tracer.
#[derive(Debug)]
pub struct TracerRun<'a> {
    pub tracer: Tracer,
    pub clock: Clock<'a>,
    precompiles: &'a Precompiles,
    is_running: bool,
}

impl<'a> TracerRun<'a> {
    pub fn new(tracer: Tracer, limits: &'a TraceLimits, precompiles: &'a Precompiles) -> Self {
        Self { tracer, clock: Clock::new(limits), precompiles, is_running: true }
    }
}

impl<'s, 'a> Inspector<CallContext<'s, 'a>, EthInterpreter> for TracerRun<'_> {
    fn step(&mut self, frame: &mut Frame, context: &mut CallContext<'s, 'a>) {
        self.clock.check(self.tracer.size());
        // For an account without code geth runs no step, but the EVM runs one that stops.
        self.is_running = frame.bytecode.bytecode_len() > 0;
        if !self.clock.is_stopped() && self.is_running {
            self.tracer.begin(frame, context);
        }
    }

    fn step_end(&mut self, frame: &mut Frame, _context: &mut CallContext<'s, 'a>) {
        if !self.clock.is_stopped() && self.is_running {
            self.tracer.end(frame);
        }
    }

    fn log(&mut self, context: &mut CallContext<'s, 'a>, log: Log) {
        self.tracer.log(&log, context);
    }

    fn call(&mut self, context: &mut CallContext<'s, 'a>, inputs: &mut CallInputs) -> Option<CallOutcome> {
        let input = inputs.input.bytes(context);
        self.tracer.enter_call(inputs, &input, self.precompiles);
        None
    }

    fn call_end(
        &mut self,
        context: &mut CallContext<'s, 'a>,
        _inputs: &CallInputs,
        outcome: &mut CallOutcome,
    ) {
        self.tracer.exit(&outcome.result, context.local.precompile_error_message.as_deref());
    }

    fn create(
        &mut self,
        context: &mut CallContext<'s, 'a>,
        inputs: &mut CreateInputs,
    ) -> Option<CreateOutcome> {
        self.tracer.enter_create(inputs, context);
        None
    }

    fn create_end(
        &mut self,
        _context: &mut CallContext<'s, 'a>,
        _inputs: &CreateInputs,
        outcome: &mut CreateOutcome,
    ) {
        self.tracer.exit(&outcome.result, None);
    }
}
