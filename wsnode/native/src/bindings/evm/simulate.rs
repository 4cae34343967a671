//! `Simulation`: blocks of calls, as a caller wants them run.

use pyo3::prelude::*;

use super::messages::Message;
use crate::bindings::errors::guard;
use crate::error::Error;
use crate::evm::simulate::{Block, Call, Options, Request};

/// Blocks of calls and how they are run.
#[pyclass(frozen, module = "wsnode._native.evm")]
pub struct Simulation(pub Request);

/// A message, or why there is none.
#[derive(FromPyObject)]
enum MessageOrRefusal<'py> {
    Message(PyRef<'py, Message>),
    Refusal(String),
}

type BlockTuple<'py> = (Option<Vec<u8>>, Option<Vec<u8>>, Vec<MessageOrRefusal<'py>>);

#[pymethods]
impl Simulation {
    /// Blocks are tuples of block overrides and state overrides, both JSON, and calls.
    #[new]
    #[pyo3(signature = (blocks, *, gas_cap, validation, trace_transfers, full_transactions))]
    fn new(
        blocks: Vec<BlockTuple<'_>>,
        gas_cap: u64,
        validation: bool,
        trace_transfers: bool,
        full_transactions: bool,
    ) -> PyResult<Self> {
        let blocks = guard(|| blocks.into_iter().map(block).collect::<Result<_, Error>>())?;
        let options =
            Options { is_strict: validation, traces_transfers: trace_transfers, full_transactions, gas_cap };
        Ok(Self(Request { blocks, options }))
    }
}

fn block((overrides, state, calls): BlockTuple<'_>) -> Result<Block, Error> {
    let calls = calls.into_iter().map(|call| match call {
        MessageOrRefusal::Message(message) => Call::Message(Box::new(message.0.clone())),
        MessageOrRefusal::Refusal(words) => Call::Refused(words),
    });
    Block::parse(overrides.as_deref(), state.as_deref(), calls.collect())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Simulation>()
}
