//! Requests of a new block to the consensus layer (EIP-7685).

use alloy_consensus::Header;
use alloy_eips::eip6110::DEPOSIT_REQUEST_TYPE;
use alloy_eips::eip7002::WITHDRAWAL_REQUEST_TYPE;
use alloy_eips::eip7251::CONSOLIDATION_REQUEST_TYPE;
use alloy_eips::eip7685::Requests;
use alloy_eips::eip8282::{BUILDER_DEPOSIT_REQUEST_TYPE, BUILDER_EXIT_REQUEST_TYPE};
use alloy_evm::block::{BlockExecutionError, BlockValidationError};
use alloy_evm::eth::eip6110::parse_deposits_from_receipts;
use alloy_evm::Database;
use alloy_hardforks::EthereumHardforks;

use crate::error::{Error, Rule, RuleViolation};
use crate::evm::execute::Executor;

/// Return the requests of a block after its transactions, and the error messages of system contracts that
/// failed.
///
/// The executor does not collect the requests again. With `may_fail`, the requests of a failed contract are
/// left out; without it, the failure is a violation of the rule `RequestsHash`. Other nodes refuse a block
/// that lacks requests.
pub fn collect<D: Database>(
    executor: &mut Executor<'_, D>,
    header: &Header,
    may_fail: bool,
) -> Result<(Requests, Vec<String>), Error> {
    let (mut requests, mut failures) = (Requests::default(), Vec::new());
    if !executor.spec.is_prague_active_at_timestamp(header.timestamp) {
        return Ok((requests, failures));
    }
    let deposits = parse_deposits_from_receipts(executor.spec, &executor.receipts);
    let is_amsterdam = executor.spec.is_amsterdam_active_at_timestamp(header.timestamp);
    let (contracts, evm) = (&mut executor.system_caller, &mut executor.evm);
    let mut all = vec![
        (DEPOSIT_REQUEST_TYPE, deposits.map_err(BlockExecutionError::from)),
        (WITHDRAWAL_REQUEST_TYPE, contracts.apply_withdrawal_requests_contract_call(evm)),
        (CONSOLIDATION_REQUEST_TYPE, contracts.apply_consolidation_requests_contract_call(evm)),
    ];
    if is_amsterdam {
        let deposits = contracts.apply_builder_deposit_requests_contract_call(evm);
        all.push((BUILDER_DEPOSIT_REQUEST_TYPE, deposits));
        all.push((BUILDER_EXIT_REQUEST_TYPE, contracts.apply_builder_exit_requests_contract_call(evm)));
    }
    for (kind, found) in all {
        match found {
            Ok(content) if content.is_empty() => {}
            Ok(content) => requests.push_request_with_type(kind, content),
            Err(BlockExecutionError::Validation(reason)) if is_of_contract(&reason) => {
                if !may_fail {
                    let violation = RuleViolation::new(
                        Rule::RequestsHash,
                        "the requests of the system contracts",
                        reason,
                    );
                    return Err(violation.in_block(Some(header.number), None).into());
                }
                failures.push(reason.to_string());
            }
            Err(reason) => return Err(Error::internal(reason)),
        }
    }
    executor.spec = executor.spec.after_requests();
    Ok((requests, failures))
}

/// Return whether a system contract failed, and not a read of the state below it.
fn is_of_contract(reason: &BlockValidationError) -> bool {
    use BlockValidationError::{
        BuilderDepositRequestsContractCall, BuilderExitRequestsContractCall,
        ConsolidationRequestsContractCall, DepositRequestDecode, WithdrawalRequestsContractCall,
    };
    match reason {
        WithdrawalRequestsContractCall { message }
        | ConsolidationRequestsContractCall { message }
        | BuilderDepositRequestsContractCall { message }
        | BuilderExitRequestsContractCall { message } => {
            // alloy's message for a failed read of the state begins with these words.
            !message.starts_with("execution failed")
        }
        DepositRequestDecode(_) => true,
        _ => false,
    }
}
