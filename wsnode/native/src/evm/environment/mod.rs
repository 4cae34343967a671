//! Environment of the EVM in a block.

pub mod arbos;
pub mod net_metering;
mod precompiles;

use alloy_consensus::Header;
use alloy_evm::EvmEnv;
use alloy_primitives::{B256, U256};
use revm::context_interface::block::BlobExcessGasAndPrice;
use revm::primitives::hardfork::SpecId;

pub use precompiles::precompiles;

use crate::evm::chain_spec::{ChainSpec, Family, Rules};

/// Blob gas at its lowest price, for blocks without blobs.
const NO_BLOBS: BlobExcessGasAndPrice = BlobExcessGasAndPrice { excess_blob_gas: 0, blob_gasprice: 1 };

/// Return the rules in force in a block. A block of difficulty 0 or with an authority's seal has the rules of
/// proof of stake.
pub fn rules_of<'a>(spec: &'a ChainSpec, header: &Header) -> Rules<'a> {
    Rules::new(spec, header.difficulty.is_zero() || spec.is_sealed_by_authority())
}

/// Return the EVM's settings and block members for the block of `header`.
pub fn evm_environment(spec: &ChainSpec, header: &Header) -> EvmEnv {
    let rules = rules_of(spec, header);
    let blobs = spec.blob_parameters(header.timestamp).filter(|_| header.excess_blob_gas.is_some());
    let mut environment = EvmEnv::for_eth_block(header, rules, spec.chain_id_at(header.number), blobs);
    let evm_rules = match spec.family() {
        Family::Arbitrum => arbos::rules(header),
        _ => rules.evm(header.number, header.timestamp),
    };
    environment.cfg_env.limit_contract_code_size = spec.code_size_limit();
    if environment.cfg_env.spec != evm_rules {
        environment.cfg_env.set_spec_and_mainnet_gas_params(evm_rules);
    }
    if evm_rules.is_enabled_in(SpecId::CANCUN) {
        // Chains without blobs have the opcode BLOBBASEFEE, too, but their headers have no blob gas.
        environment.block_env.blob_excess_gas_and_price.get_or_insert(NO_BLOBS);
    }
    if spec.is_sealed_by_authority() && !header.difficulty.is_zero() {
        // Chains sealed by an authority kept DIFFICULTY (bor and bsc core/evm.go: no random value while the
        // difficulty is not 0).
        environment.block_env.prevrandao = Some(B256::from(header.difficulty));
    }
    if spec.family() == Family::Arbitrum {
        environment.block_env.number = U256::from(arbos::l1_block_number(header));
    }
    if rules.has_net_metering(header.number) {
        environment.cfg_env.set_gas_params(net_metering::gas_params());
    }
    environment
}
