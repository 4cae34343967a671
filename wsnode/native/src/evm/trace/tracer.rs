//! Tracers by geth's names, and the events of a run for each.

use alloy_primitives::{Address, Bytes};
use revm::context::result::ResultAndState;
use revm::context::TxEnv;
use revm::interpreter::{CallInputs, CreateInputs, InterpreterResult};
use revm::precompile::Precompiles;
use revm::primitives::hardfork::SpecId;
use revm::primitives::Log;

use super::calls::Calls;
use super::flat::{Flat, Position};
use super::options::{TraceOptions, TracerConfig};
use super::prestate::Prestate;
use super::reading::Frame;
use super::selectors::Selectors;
use super::steps::Steps;
use crate::evm::call::{CallContext, CallState};
use crate::json::traces;

/// Values that a tracer needs besides the events of the run.
#[derive(Debug, Clone)]
pub struct TraceContext {
    pub rules: SpecId,
    pub precompiles: &'static Precompiles,
    pub beneficiary: Address,
    pub position: Position,
    /// Number of logs in the block before the run.
    pub first_log: usize,
}

/// Transaction and result of a run that has ended.
#[derive(Debug)]
pub struct Ended<'a> {
    pub transaction: &'a TxEnv,
    pub result: &'a ResultAndState,
}

#[derive(Debug)]
pub enum Tracer {
    Steps(Box<Steps>),
    Calls(Calls),
    Flat(Calls, TracerConfig),
    Prestate(Prestate),
    Selectors(Selectors),
    Noop,
    Mux(Vec<(String, Tracer)>),
}

impl Tracer {
    /// Return the requested tracer, or None for an unknown name.
    pub fn new(options: &TraceOptions, surroundings: &TraceContext) -> Option<Self> {
        match &options.tracer {
            None => Some(Self::Steps(Box::new(Steps::new(options.steps, surroundings.rules)))),
            Some(name) => Self::named(name, &options.tracer_config, surroundings),
        }
    }

    fn named(name: &str, config: &TracerConfig, surroundings: &TraceContext) -> Option<Self> {
        let TraceContext { first_log, rules, precompiles, .. } = *surroundings;
        let calls = |top, logs| Calls::new(top, logs, first_log, rules, precompiles);
        Some(match name {
            "callTracer" => Self::Calls(calls(config.only_top_call, config.with_log)),
            "flatCallTracer" => Self::Flat(calls(false, false), config.clone()),
            "prestateTracer" => Self::Prestate(Prestate::new(config.clone(), surroundings.rules)),
            "4byteTracer" => Self::Selectors(Selectors::default()),
            "noopTracer" => Self::Noop,
            "muxTracer" => {
                let inner = |(name, config): (&String, &TracerConfig)| {
                    Some((name.clone(), Self::named(name, config, surroundings)?))
                };
                Self::Mux(config.tracers.iter().map(inner).collect::<Option<_>>()?)
            }
            _ => return None,
        })
    }

    /// Return the bytes that are kept so far.
    pub fn size(&self) -> usize {
        match self {
            Self::Steps(steps) => steps.size(),
            Self::Calls(calls) | Self::Flat(calls, _) => calls.size(),
            Self::Prestate(prestate) => prestate.size(),
            Self::Selectors(_) | Self::Noop => 0,
            Self::Mux(inner) => inner.iter().map(|(_, tracer)| tracer.size()).sum(),
        }
    }

    fn each(&mut self, visit: &mut dyn FnMut(&mut Self)) {
        match self {
            Self::Mux(inner) => inner.iter_mut().for_each(|(_, tracer)| tracer.each(visit)),
            single => visit(single),
        }
    }

    pub fn prepare(&mut self, state: &mut CallState<'_>, transaction: &TxEnv, beneficiary: Address) {
        self.each(&mut |tracer| {
            if let Self::Prestate(prestate) = tracer {
                prestate.prepare(state, transaction, beneficiary);
            }
        });
    }

    pub fn begin(&mut self, frame: &Frame, context: &mut CallContext<'_, '_>) {
        match self {
            Self::Steps(steps) => steps.begin(frame, context),
            Self::Calls(calls) | Self::Flat(calls, _) => calls.begin(frame, context),
            Self::Prestate(prestate) => prestate.begin(frame, context),
            Self::Selectors(_) | Self::Noop => {}
            Self::Mux(inner) => inner.iter_mut().for_each(|(_, tracer)| tracer.begin(frame, context)),
        }
    }

    pub fn end(&mut self, frame: &mut Frame) {
        match self {
            Self::Steps(steps) => steps.end(frame),
            Self::Calls(calls) | Self::Flat(calls, _) => calls.end(frame),
            Self::Prestate(prestate) => prestate.end(frame),
            Self::Mux(inner) => inner.iter_mut().for_each(|(_, tracer)| tracer.end(frame)),
            _ => {}
        }
    }

    pub fn log(&mut self, log: &Log, context: &CallContext<'_, '_>) {
        self.each(&mut |tracer| {
            if let Self::Calls(calls) = tracer {
                calls.log(log.clone(), context);
            }
        });
    }

    pub fn enter_call(&mut self, inputs: &CallInputs, input: &Bytes, precompiles: &Precompiles) {
        self.each(&mut |tracer| match tracer {
            Self::Steps(steps) => steps.enter(),
            Self::Calls(calls) | Self::Flat(calls, _) => calls.enter_call(inputs, input.clone()),
            Self::Selectors(selectors) => selectors.enter_call(inputs.bytecode_address, input, precompiles),
            _ => {}
        });
    }

    pub fn enter_create(&mut self, inputs: &CreateInputs, context: &mut CallContext<'_, '_>) {
        self.each(&mut |tracer| match tracer {
            Self::Steps(steps) => steps.enter(),
            Self::Calls(calls) | Self::Flat(calls, _) => calls.enter_create(inputs, context),
            _ => {}
        });
    }

    /// End a frame. `precompile` is the error of a failed precompiled contract.
    pub fn exit(&mut self, result: &InterpreterResult, precompile: Option<&str>) {
        self.each(&mut |tracer| match tracer {
            Self::Steps(steps) => steps.exit(),
            Self::Calls(calls) | Self::Flat(calls, _) => calls.exit(result, precompile),
            _ => {}
        });
    }

    pub fn finish(
        self,
        text: &mut Vec<u8>,
        state: &mut CallState<'_>,
        surroundings: &TraceContext,
        ended: &Ended<'_>,
    ) {
        let result = &ended.result.result;
        let (gas_limit, gas_used) = (ended.transaction.gas_limit, result.gas().tx_gas_used());
        match self {
            Self::Steps(steps) => {
                let output = result.output().map(|output| output.to_vec()).unwrap_or_default();
                steps.finish(text, gas_used, !result.is_success(), &output);
            }
            Self::Calls(calls) => match calls.finish(gas_limit, gas_used) {
                Some(root) => root.write(text),
                None => text.extend_from_slice(b"null"),
            },
            Self::Flat(calls, config) => {
                let hidden = (!config.include_precompiles).then_some(surroundings.precompiles);
                let converts_errors = config.convert_parity_errors;
                let flat = Flat { position: surroundings.position, converts_errors, hidden };
                match calls.finish(gas_limit, gas_used) {
                    Some(mut root) => flat.write(text, &mut root),
                    None => text.extend_from_slice(b"[]"),
                }
            }
            Self::Prestate(prestate) => prestate.finish(text, state, ended.result),
            Self::Selectors(selectors) => selectors.finish(text),
            Self::Noop => text.extend_from_slice(b"{}"),
            Self::Mux(inner) => traces::object(text, inner, |text, (name, tracer)| {
                traces::string(text, &name);
                text.push(b':');
                tracer.finish(text, state, surroundings, ended);
            }),
        }
    }
}
