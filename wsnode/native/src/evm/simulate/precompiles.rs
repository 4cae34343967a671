//! Precompiled contracts of a simulated block. A moved contract's usual address stays warm.

use alloy_evm::precompiles::PrecompilesMap;
use alloy_primitives::map::AddressSet;
use alloy_primitives::Address;
use revm::handler::PrecompileProvider;
use revm::interpreter::{CallInputs, InterpreterResult};
use revm::precompile::Precompiles;
use revm::primitives::hardfork::SpecId;

use crate::evm::call::evm::{CallContext, MeteredPrecompiles};

/// Precompiled contracts at their addresses in one block.
#[derive(Debug)]
pub struct BlockPrecompiles {
    pub contracts: MeteredPrecompiles,
    warm: &'static AddressSet,
}

impl BlockPrecompiles {
    /// Return all contracts at their usual addresses.
    pub fn new(contracts: &'static Precompiles) -> Self {
        let precompiles = PrecompilesMap::from_static(contracts);
        let moved_precompiles = <_>::default();
        Self {
            contracts: MeteredPrecompiles { precompiles, contracts, moved_precompiles },
            warm: contracts.addresses_set(),
        }
    }
}

/// Contracts of the block, borrowed by the EVM of one call.
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
