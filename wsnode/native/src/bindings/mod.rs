//! The Python face: thin classes and functions over the engine's modules.

mod blocks;
mod building;
mod errors;
mod messages;
mod numbers;
mod parity;
mod plain_call;
mod plain_reads;
mod pool;
mod render;
mod signing;
mod simulate;
mod spec;
mod starknet;
mod state;
mod store;
mod together;
mod tracing;
mod wire;
mod witness;

use pyo3::prelude::*;

/// The module `wsnode._native`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    errors::register(module)?;
    spec::register(module)?;
    blocks::register(module)?;
    state::register(module)?;
    store::register(module)?;
    tracing::register(module)?;
    witness::register(module)?;
    parity::register(module)?;
    messages::register(module)?;
    plain_call::register(module)?;
    plain_reads::register(module)?;
    building::register(module)?;
    pool::register(module)?;
    signing::register(module)?;
    render::register(module)?;
    simulate::register(module)?;
    starknet::register(module)?;
    wire::register(module)?;
    together::register(module)?;
    // PyO3 lists every name in it; the stub file does so already.
    module.delattr("__all__")
}
