//! `Simulation`: blocks of calls.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use super::messages::Message;
use crate::bindings::errors::guard;
use crate::error::Error;
use crate::evm::simulate::{Block, Call, SimulationOptions, SimulationRequest};

/// Blocks of calls, and the options of their runs.
#[pyclass(frozen, module = "wsnode._native.evm")]
pub struct Simulation(pub SimulationRequest);

/// Message, or the reason why there is none.
#[derive(FromPyObject)]
enum MessageOrRefusal<'py> {
    Message(PyRef<'py, Message>),
    Refusal(String),
}

type OverridesText = Option<PyBackedBytes>;
type BlockTuple<'py> = (OverridesText, OverridesText, Vec<MessageOrRefusal<'py>>);

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (blocks, *, gas_cap, validation, trace_transfers, full_transactions))]
    fn new(
        py: Python<'_>,
        blocks: Vec<BlockTuple<'_>>,
        gas_cap: u64,
        validation: bool,
        trace_transfers: bool,
        full_transactions: bool,
    ) -> PyResult<Self> {
        let blocks: Vec<_> =
            blocks.into_iter().map(|(own, state, calls)| (own, state, taken(calls))).collect();
        // Thousands of overridden slots take 10 ms.
        let blocks = py.detach(|| guard(|| blocks.into_iter().map(block).collect::<Result<_, Error>>()))?;
        let options = SimulationOptions {
            is_strict: validation,
            traces_transfers: trace_transfers,
            full_transactions,
            gas_cap,
        };
        Ok(Self(SimulationRequest { blocks, options }))
    }
}

fn taken(calls: Vec<MessageOrRefusal<'_>>) -> Vec<Call> {
    let taken = calls.into_iter().map(|call| match call {
        MessageOrRefusal::Message(message) => Call::Message(Box::new(message.0.clone())),
        MessageOrRefusal::Refusal(words) => Call::Refused(words),
    });
    taken.collect()
}

fn block((overrides, state, calls): (OverridesText, OverridesText, Vec<Call>)) -> Result<Block, Error> {
    Block::parse(overrides.as_deref(), state.as_deref(), calls)
}

register! {
    classes: Simulation;
}
