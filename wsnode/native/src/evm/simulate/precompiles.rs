//! The precompiled contracts of a simulated block: moved perhaps, but warm where they always are.

use alloy_evm::precompiles::PrecompilesMap;
use alloy_primitives::map::AddressSet;
use alloy_primitives::Address;
use revm::handler::PrecompileProvider;
use revm::interpreter::{CallInputs, InterpreterResult};
use revm::precompile::Precompiles;
use revm::primitives::hardfork::SpecId;

use crate::evm::call::evm::{CallContext, MeteredPrecompiles};

/// The contracts at their places in one block.
#[derive(Debug)]
pub struct BlockPrecompiles {
    pub contracts: MeteredPrecompiles,
    warm: &'static AddressSet,
}

impl BlockPrecompiles {
    /// All in place.
    pub fn new(contracts: &'static Precompiles) -> Self {
        let precompiles = PrecompilesMap::from_static(contracts);
        let moved_precompiles = <_>::default();
        Self {
            contracts: MeteredPrecompiles { precompiles, contracts, moved_precompiles },
            warm: contracts.addresses_set(),
        }
    }
}

/// What the EVM of one call borrows of them.
#[derive(Debug)]
pub struct Borrowed<'p>(pub &'p mut BlockPrecompiles);

impl<'s, 'a> PrecompileProvider<CallContext<'s, 'a>> for Borrowed<'_> {
    type Output = InterpreterResult;

    fn set_spec(&mut self, _rules: SpecId) -> bool {
        false
    }

    fn run(
        &mut self,
        context: &mut CallContext<'s, 'a>,
        inputs: &CallInputs,
    ) -> Result<Option<InterpreterResult>, String> {
        self.0.contracts.run(context, inputs)
    }

    fn warm_addresses(&self) -> &AddressSet {
        self.0.warm
    }

    fn contains(&self, address: &Address) -> bool {
        self.0.contracts.precompiles.get(address).is_some()
    }
}
