//! Python bindings: classes and functions over the engine's modules, one submodule for each subject.

/// Define `register`, which adds classes, errors and functions to a module under their names, and calls the
/// function in `also`.
macro_rules! register {
    (
        $(classes: $($class:ty),+;)?
        $(errors: $($error:ident),+;)?
        $(functions: $($function:ident),+;)?
        $(also: $also:ident;)?
    ) => {
        pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $($(module.add_class::<$class>()?;)+)?
            $($(module.add(stringify!($error), module.py().get_type::<$error>())?;)+)?
            $($(module.add_function(wrap_pyfunction!($function, module)?)?;)+)?
            $($also(module)?;)?
            Ok(())
        }
    };
}

mod beacon;
mod chain;
mod errors;
mod evm;
mod numbers;
mod scoreboard;
mod starknet;
mod store;
mod wire;

use pyo3::prelude::*;

/// Fill the module `wsnode._native`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    add(module, "evm", evm::register)?;
    add(module, "scoreboard", scoreboard::register)?;
    add(module, "chain", chain::register)?;
    add(module, "store", store::register)?;
    add(module, "wire", wire::register)?;
    add(module, "starknet", starknet::register)?;
    add(module, "beacon", beacon::register)?;
    module.delattr("__all__")
}

type Register = fn(&Bound<'_, PyModule>) -> PyResult<()>;

/// Add a submodule with the members that `register` adds to it.
fn add(module: &Bound<'_, PyModule>, name: &str, register: Register) -> PyResult<()> {
    let py = module.py();
    let path = format!("wsnode._native.{name}");
    let submodule = PyModule::new(py, &path)?;
    register(&submodule)?;
    // PyO3 lists every name in `__all__`, but the stub file lists them already.
    submodule.delattr("__all__")?;
    // An extension module is not a package, so the import system finds its submodules only by their names in
    // `sys.modules`.
    py.import("sys")?.getattr("modules")?.set_item(&path, &submodule)?;
    module.add(name, submodule)
}
