//! The precompiled contracts of a simulated block: moved perhaps, but warm where they always are.

use alloy_evm::precompiles::PrecompilesMap;
use alloy_primitives::map::AddressSet;
use alloy_primitives::Address;
use revm::handler::PrecompileProvider;
use revm::interpreter::{CallInputs, InterpreterResult};
use revm::precompile::{PrecompileSpecId, Precompiles};
use revm::primitives::hardfork::SpecId;

use crate::evm::call::evm::{CallContext, WatchedPrecompiles};

/// The contracts at their places in one block.
#[derive(Debug)]
pub struct BlockPrecompiles {
    pub contracts: WatchedPrecompiles,
    warm: &'static AddressSet,
}

impl BlockPrecompiles {
    /// Those of a fork, all in place.
    pub fn of(rules: SpecId) -> Self {
        let all = Precompiles::new(PrecompileSpecId::from_spec_id(rules));
        let contracts = WatchedPrecompiles {
            precompiles: PrecompilesMap::from_static(all),
            rules,
            moves: <_>::default(),
        };
        Self { contracts, warm: all.addresses_set() }
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
