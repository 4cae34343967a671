//! State in which the transactions of the next block would run.

use alloy_consensus::Header;
use alloy_evm::block::{BlockExecutionError, BlockExecutor};
use alloy_evm::eth::receipt_builder::AlloyReceiptBuilder;
use alloy_evm::eth::EthBlockExecutor;
use alloy_evm::EvmFactory;
use revm::database::CacheDB;

use crate::error::Error;
use crate::evm::call::refusal::refuse;
use crate::evm::chain_spec::ChainSpec;
use crate::evm::environment::{evm_environment, rules_of};
use crate::evm::execute::{surroundings, words};
use crate::state::HistoryView;

/// Return the state after the system calls at the beginning of the block of `header`. `view` is the state of
/// its parent.
pub fn pending_state<'a>(
    spec: &ChainSpec,
    view: HistoryView<'a>,
    header: &Header,
) -> Result<CacheDB<HistoryView<'a>>, Error> {
    let mut state = CacheDB::new(view);
    let evm = alloy_evm::EthEvmFactory::default().create_evm(&mut state, evm_environment(spec, header));
    let surroundings = surroundings(header, &[], None, 0);
    let rules = rules_of(spec, header);
    let mut executor = EthBlockExecutor::new(evm, surroundings, rules, AlloyReceiptBuilder::default());
    executor.apply_pre_execution_changes().map_err(|reason| match reason {
        BlockExecutionError::Validation(reason) => refuse("block", words(&reason)),
        other => Error::internal(other),
    })?;
    drop(executor);
    Ok(state)
}
