//! The EVM's surroundings in a block.

pub mod net_metering;

use alloy_consensus::Header;
use alloy_evm::EvmEnv;

use crate::evm::chain_spec::{ChainSpec, Rules};

/// The rules in force in a block; one of difficulty 0 is one of proof of stake.
pub fn rules_of<'a>(spec: &'a ChainSpec, header: &Header) -> Rules<'a> {
    Rules::new(spec, header.difficulty.is_zero())
}

/// The EVM's settings and block members for executing what `header` heads.
pub fn evm_environment(spec: &ChainSpec, header: &Header) -> EvmEnv {
    let rules = rules_of(spec, header);
    let blobs = spec.blob_parameters(header.timestamp).filter(|_| header.excess_blob_gas.is_some());
    let mut environment = EvmEnv::for_eth_block(header, rules, spec.chain_id_at(header.number), blobs);
    let evm_rules = rules.evm(header.number, header.timestamp);
    if environment.cfg_env.spec != evm_rules {
        environment.cfg_env.set_spec_and_mainnet_gas_params(evm_rules);
    }
    if rules.has_net_metering(header.number) {
        environment.cfg_env.set_gas_params(net_metering::gas_params());
    }
    environment
}
