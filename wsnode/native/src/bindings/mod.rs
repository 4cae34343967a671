//! The Python face: thin classes and functions over the engine's modules.

mod chain;
mod errors;
mod evm;
mod numbers;
mod starknet;
mod store;
mod wire;

use pyo3::prelude::*;

/// The module `wsnode._native`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    errors::register(module)?;
    evm::register(module)?;
    chain::register(module)?;
    store::register(module)?;
    wire::register(module)?;
    starknet::register(module)?;
    // PyO3 lists every name in it; the stub file does so already.
    module.delattr("__all__")
}
