//! Environment of calls in a simulated block.

use alloy_consensus::Header;
use alloy_evm::EvmEnv;

use super::plan::Planned;
use super::precompiles::BlockPrecompiles;
use super::request::SimulationOptions;
use crate::error::Error;
use crate::evm::call::env::loosen;
use crate::evm::call::refusal::refuse;
use crate::evm::chain_spec::{ChainSpec, Fork};
use crate::evm::environment::{evm_environment, precompiles};

/// Environment of calls in one block.
#[derive(Debug)]
pub struct SimulationEnv {
    pub environment: EvmEnv,
    pub precompiles: BlockPrecompiles,
    pub chain_id: u64,
    pub base_fee: Option<u64>,
    pub is_strict: bool,
    pub is_prague: bool,
    /// False before Byzantium, where receipts hold state roots.
    pub has_status: bool,
    pub clears_empty: bool,
}

impl SimulationEnv {
    pub fn new(
        spec: &ChainSpec,
        header: &Header,
        planned: &Planned,
        options: &SimulationOptions,
    ) -> Result<Self, Error> {
        let mut environment = evm_environment(spec, header);
        loosen(&mut environment);
        environment.cfg_env.disable_base_fee = true;
        environment.cfg_env.chain_id = spec.chain_id();
        if let (Some(wanted), Some(blobs)) =
            (planned.block.overrides.blob_base_fee, &mut environment.block_env.blob_excess_gas_and_price)
        {
            let too_large = |_| refuse("unsupported", format!("blob base fee {wanted} exceeds 128 bits"));
            blobs.blob_gasprice = wanted.try_into().map_err(too_large)?;
        }
        Ok(Self {
            precompiles: BlockPrecompiles::new(precompiles(spec, &environment)),
            environment,
            chain_id: spec.chain_id(),
            base_fee: header.base_fee_per_gas,
            is_strict: options.is_strict,
            is_prague: has_requests(spec, header),
            has_status: spec.is_active(Fork::Byzantium, header.number),
            clears_empty: spec.is_active(Fork::SpuriousDragon, header.number),
        })
    }
}

/// Return whether Prague, the fork with requests, is active in the block of `header`.
fn has_requests(spec: &ChainSpec, header: &Header) -> bool {
    spec.is_active_at(Fork::Prague, header.number, header.timestamp)
}
