//! Executor of a block's transactions.

use alloy_consensus::transaction::Recovered;
use alloy_consensus::{Header, TxEnvelope};
use alloy_evm::block::{BlockExecutionError, BlockExecutor};
use alloy_evm::eth::receipt_builder::AlloyReceiptBuilder;
use alloy_evm::eth::{EthBlockExecutionCtx, EthBlockExecutor};
use alloy_evm::precompiles::PrecompilesMap;
use alloy_evm::{Database, EthEvm, EthEvmFactory, Evm, EvmFactory};
use alloy_primitives::Address;
use revm::database::State;
use revm::inspector::NoOpInspector;

use crate::evm::block::impersonated_sender;
use crate::evm::chain_spec::{ChainSpec, Rules};
use crate::evm::environment::{evm_environment, net_metering, precompiles, rules_of};

type BlockEvm<'a, D> = EthEvm<&'a mut State<D>, NoOpInspector, PrecompilesMap>;
pub type Executor<'a, D> = EthBlockExecutor<'a, BlockEvm<'a, D>, Rules<'a>, AlloyReceiptBuilder>;

pub fn executor<'a, D: Database>(
    spec: &'a ChainSpec,
    header: &Header,
    surroundings: EthBlockExecutionCtx<'a>,
    state: &'a mut State<D>,
) -> Executor<'a, D> {
    let environment = evm_environment(spec, header);
    let is_net_metered = net_metering::is_in_force(&environment.cfg_env);
    let contracts = precompiles(spec, &environment);
    let mut evm = EthEvmFactory::default().create_evm(state, environment);
    *evm.precompiles_mut() = PrecompilesMap::from_static(contracts);
    if is_net_metered {
        let mut inner = evm.into_inner();
        net_metering::install(&mut inner.instruction);
        evm = EthEvm::new(inner, false);
    }
    EthBlockExecutor::new(evm, surroundings, rules_of(spec, header), AlloyReceiptBuilder::default())
}

/// Execute a transaction of `sender`. After an error the state is unchanged.
pub fn execute_transaction<D: Database>(
    executor: &mut Executor<'_, D>,
    transaction: &TxEnvelope,
    sender: Address,
) -> Result<(), BlockExecutionError> {
    // A contract sends no transactions (EIP-3607), except on a development chain that impersonates it.
    let is_impersonated = impersonated_sender(transaction.signature()).is_some();
    executor.evm.ctx_mut().cfg.disable_eip3607 = is_impersonated;
    executor.execute_transaction(Recovered::new_unchecked(transaction, sender)).map(drop)
}
