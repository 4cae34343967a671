//! Rules in force for one block, in the types of alloy's executor.

use alloy_evm::eth::spec::EthExecutorSpec;
use alloy_hardforks::{EthereumHardfork, EthereumHardforks, ForkCondition};
use alloy_primitives::{Address, U256};
use revm::primitives::hardfork::SpecId;
use revm::primitives::{eip3860, eip7954};

use super::forks::TABLE;
use super::{ChainSpec, Fork};

/// Return the protocol's limit of init code in bytes: EIP-7954's from Amsterdam on, EIP-3860's before.
pub fn maximum_initcode(rules: SpecId) -> usize {
    match rules.is_enabled_in(SpecId::AMSTERDAM) {
        true => eip7954::MAX_INITCODE_SIZE,
        false => eip3860::MAX_INITCODE_SIZE,
    }
}

/// Forks of a chain as one block sees them.
///
/// The merge happens at a total difficulty, but alloy's tables need the number of the first block after it. A
/// block knows whether it is one of proof of stake, and forks by time depend on this.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    spec: &'a ChainSpec,
    is_proof_of_stake: bool,
    has_requests: bool,
}

impl<'a> Rules<'a> {
    pub fn new(spec: &'a ChainSpec, is_proof_of_stake: bool) -> Self {
        Self { spec, is_proof_of_stake, has_requests: true }
    }

    /// Return the rules for the end of a block after its requests have been collected. Prague is not active
    /// in them, so that alloy does not collect the requests again.
    pub fn after_requests(self) -> Self {
        Self { has_requests: false, ..self }
    }

    pub fn evm(&self, number: u64, timestamp: u64) -> SpecId {
        let constantinople = self.spec.is_active(Fork::Constantinople, number);
        match alloy_evm::spec_by_timestamp_and_block_number(self, timestamp, number) {
            // revm has no rules for Constantinople. Those of Petersburg differ only in the gas of SSTORE,
            // which `net_metering` adds.
            SpecId::BYZANTIUM if constantinople => SpecId::PETERSBURG,
            rules => rules,
        }
    }

    /// Return whether SSTORE has the net metering of EIP-1283: Constantinople added it, Petersburg removed
    /// it.
    pub fn has_net_metering(&self, number: u64) -> bool {
        let is_active = |fork| self.spec.is_active(fork, number);
        is_active(Fork::Constantinople) && !is_active(Fork::Petersburg) && !is_active(Fork::Istanbul)
    }

    fn by_block(&self, fork: Fork) -> ForkCondition {
        self.spec.forks.activation(fork).map_or(ForkCondition::Never, ForkCondition::Block)
    }

    fn by_time(&self, fork: Fork) -> ForkCondition {
        match self.spec.forks.activation(fork) {
            Some(begin) if self.is_proof_of_stake => ForkCondition::Timestamp(begin),
            _ => ForkCondition::Never,
        }
    }

    fn merge(&self) -> ForkCondition {
        match self.is_proof_of_stake {
            true => ForkCondition::TTD {
                activation_block_number: 0,
                fork_block: None,
                total_difficulty: U256::ZERO,
            },
            false => ForkCondition::Never,
        }
    }
}

impl EthereumHardforks for Rules<'_> {
    fn ethereum_fork_activation(&self, fork: EthereumHardfork) -> ForkCondition {
        match fork {
            EthereumHardfork::Frontier => ForkCondition::ZERO_BLOCK,
            EthereumHardfork::Paris => self.merge(),
            EthereumHardfork::Prague if !self.has_requests => ForkCondition::Never,
            // The row of the DAO fork names no `hardfork`: alloy's executor would move the balances after the
            // transactions, but the protocol moves them before.
            _ => match TABLE.iter().find(|row| row.hardfork == Some(fork)) {
                Some(row) if row.is_by_time() => self.by_time(row.fork),
                Some(row) => self.by_block(row.fork),
                None => ForkCondition::Never,
            },
        }
    }
}

impl EthExecutorSpec for Rules<'_> {
    fn deposit_contract_address(&self) -> Option<Address> {
        // Without an address, alloy would use the deposit contract of mainnet.
        Some(self.spec.deposit_contract.unwrap_or(Address::ZERO))
    }
}
