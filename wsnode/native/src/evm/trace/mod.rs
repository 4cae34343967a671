//! What transactions and calls do, step by step or call by call, in the shapes of geth's tracers.

mod block;
mod calls;
mod fault;
mod flat;
mod options;
pub mod parity;
mod prestate;
mod reading;
mod recorder;
mod run;
mod selectors;
mod steps;
mod storage_range;
mod tracer;

pub use options::Options;
pub use run::{Limits, Stopped};
pub use storage_range::{storage_range, Range};

use alloy_eips::BlockNumHash;
use alloy_primitives::{Address, Bytes};
use revm::precompile::{PrecompileSpecId, Precompiles};
use revm::primitives::hardfork::SpecId;

use crate::chain::rows::HeaderRow;
use crate::engine::{Engine, Rows};
use crate::error::Error;
use crate::evm::call::{failure, Layer, Message, Overrides, Place, Scene, Watch};
use crate::evm::chain_spec::ChainSpec;
use crate::json::traces;
use block::Replay;
use flat::Position;
use run::Run;
use tracer::{Ended, Surroundings, Tracer};

/// What tracing came to.
#[derive(Debug)]
pub enum Traced {
    /// JSON.
    Text(Vec<u8>),
    UnknownTracer,
    Stopped(Stopped),
}

/// A JSON array of bytes.
pub fn list_of_bytes(text: &mut Vec<u8>, items: &[Bytes]) {
    traces::list(text, items, |text, item| traces::data(text, item));
}

/// Trace one transaction of a block.
pub fn trace_transaction(
    engine: &Engine,
    rows: Rows<'_>,
    index: usize,
    options: &Options,
    limits: &Limits,
) -> Result<Traced, Error> {
    let watch = Watch::new(None, Some(limits.stop.clone()));
    let mut replay = Replay::new(&engine.spec, &engine.reader, rows, &watch)?;
    match replay.skip_to(index)? {
        true => replay.trace(index, options, limits),
        false => Ok(Traced::Stopped(Stopped::Cancelled)),
    }
}

/// Trace all transactions of a block, each under its hash.
pub fn trace_block(
    engine: &Engine,
    rows: Rows<'_>,
    options: &Options,
    limits: &Limits,
) -> Result<Traced, Error> {
    let watch = Watch::new(None, Some(limits.stop.clone()));
    let mut replay = Replay::new(&engine.spec, &engine.reader, rows, &watch)?;
    let mut text = vec![b'['];
    for index in 0..replay.len() {
        if index > 0 {
            text.push(b',');
        }
        text.extend_from_slice(format!("{{\"txHash\":\"{:#x}\",\"result\":", replay.hash(index)).as_bytes());
        match replay.trace(index, options, limits)? {
            Traced::Text(trace) => text.extend_from_slice(&trace),
            other => return Ok(other),
        }
        text.push(b'}');
        if text.len() > limits.size {
            return Ok(Traced::Stopped(Stopped::TooLarge));
        }
    }
    text.push(b']');
    Ok(Traced::Text(text))
}

/// The place of a traced call: after a block, or after a number of its transactions.
#[derive(Debug)]
pub struct CallPlace<'a> {
    pub rows: Rows<'a>,
    pub transactions: Option<usize>,
    pub overrides: Overrides,
    pub gas_cap: u64,
}

/// Trace a message.
pub fn trace_call(
    engine: &Engine,
    place: CallPlace<'_>,
    message: &Message,
    options: &Options,
    limits: &Limits,
) -> Result<Traced, Error> {
    let watch = Watch::new(None, Some(limits.stop.clone()));
    let row = HeaderRow::new(place.rows.0)?;
    let header = row.header()?;
    let layer = match place.transactions {
        None => Layer::Plain(engine.reader.at(BlockNumHash::new(header.number, *row.hash()))?),
        Some(count) => {
            let mut replay = Replay::new(&engine.spec, &engine.reader, place.rows, &watch)?;
            if !replay.skip_to(count)? {
                return Ok(Traced::Stopped(Stopped::Cancelled));
            }
            replay.into_layer()
        }
    };
    let spec: &ChainSpec = &engine.spec;
    let gas = message.gas.map_or(place.gas_cap, |gas| gas.min(place.gas_cap));
    let scene = Scene::set(Place { spec, layer, header: &header, overrides: place.overrides }, &watch)?;
    trace_scene(scene, message, gas, options, limits)
}

fn trace_scene(
    mut scene: Scene<'_>,
    message: &Message,
    gas: u64,
    options: &Options,
    limits: &Limits,
) -> Result<Traced, Error> {
    let surroundings = surroundings_of(&scene);
    let Some(tracer) = Tracer::new(options, &surroundings) else {
        return Ok(Traced::UnknownTracer);
    };
    let mut run = Run::new(tracer, limits, &surroundings.precompiles);
    let (result, transaction) = scene.inspect(message, gas, &mut run, |run, state, transaction| {
        run.tracer.prepare(state, transaction, surroundings.beneficiary);
    })?;
    if let Some(stopped) = run.clock.stopped {
        return Ok(Traced::Stopped(stopped));
    }
    if scene.state.watch.is_stopped() {
        return Ok(Traced::Stopped(Stopped::Cancelled));
    }
    let result = result.map_err(|error| failure(error, message))?;
    let mut text = Vec::new();
    let ended = Ended { transaction: &transaction, result: &result };
    run.tracer.finish(&mut text, &mut scene.state, &surroundings, &ended);
    Ok(Traced::Text(text))
}

fn surroundings_of(scene: &Scene<'_>) -> Surroundings {
    let rules = scene.environment.cfg_env.spec;
    Surroundings {
        rules,
        precompiles: precompiles(rules),
        beneficiary: scene.environment.block_env.beneficiary,
        // A call is nowhere.
        position: Position::default(),
        first_log: 0,
    }
}

fn precompiles(rules: SpecId) -> Vec<Address> {
    Precompiles::new(PrecompileSpecId::from_spec_id(rules)).addresses().copied().collect()
}
