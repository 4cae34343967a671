"""Registration of the ots_ methods."""

from functools import partial
from typing import Final

from wsnode.ethereum.rpc.common.errors import STATE_ERRORS, TRACE_ERRORS, TRANSACTION_NOT_FOUND
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.param_contracts import account_of
from wsnode.ethereum.rpc.common.pending_state import PendingState
from wsnode.ethereum.rpc.common.schemas import BYTES, HASH, TRANSACTION
from wsnode.ethereum.rpc.otterscan import blocks
from wsnode.ethereum.rpc.otterscan.account_history import AccountHistoryMethods
from wsnode.ethereum.rpc.otterscan.schemas import CALLS, CREATOR, OPERATIONS, PAGE
from wsnode.ethereum.rpc.otterscan.search import TransactionSearchMethods
from wsnode.ethereum.rpc.otterscan.transactions import InternalTransactionMethods
from wsnode.ethereum.rpc.parity_traces.blocks import BlockTraceMethods
from wsnode.jsonrpc.errors import limit_exceeded
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import or_null

_SEARCH_TIMEOUT: Final = limit_exceeded("search timeout exceeded")


def add_methods(registry: Registry, limits: CallLimits, pending: PendingState) -> None:
    """Register this module's methods."""
    blocks.add_methods(registry, pending)
    inside, history = (
        InternalTransactionMethods(BlockTraceMethods(limits, pending)),
        AccountHistoryMethods(limits),
    )
    searching = TransactionSearchMethods(limits)
    method = partial(
        registry.method, deadline=limits.trace_longest_seconds, timeout_error=searching.timed_out
    )
    of_transaction = partial(method, errors=(*TRACE_ERRORS, TRANSACTION_NOT_FOUND))
    of_transaction("ots_getInternalOperations", result=OPERATIONS)(inside.get_internal_operations)
    of_transaction("ots_traceTransaction", result=CALLS)(inside.trace_transaction)
    of_transaction("ots_getTransactionError", result=BYTES)(inside.get_transaction_error)
    # No key can list the accounts of its users beforehand: these name no contracts.
    by_nonce = partial(method, errors=STATE_ERRORS)
    by_nonce("ots_getTransactionBySenderAndNonce", result=or_null(HASH))(history.get_transaction_by_nonce)
    by_nonce("eth_getTransactionBySenderAndNonce", result=or_null(TRANSACTION))(
        history.get_full_transaction_by_nonce
    )
    of_account = partial(method, contracts=account_of)
    of_account("ots_getContractCreator", result=CREATOR, errors=TRACE_ERRORS)(history.get_contract_creator)
    searched = partial(of_account, result=PAGE, errors=(*TRACE_ERRORS, _SEARCH_TIMEOUT))
    searched("ots_searchTransactionsBefore")(searching.search_before)
    searched("ots_searchTransactionsAfter")(searching.search_after)
