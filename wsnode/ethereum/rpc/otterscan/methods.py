"""The ots_ methods, and calls and transfers inside a transaction in Otterscan's form."""

from functools import partial
from typing import Any, Final

import msgspec

from wsnode.ethereum.codec.rendering import stored_receipt
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.parameters import account_of
from wsnode.ethereum.rpc.common.pending_state import PendingState
from wsnode.ethereum.rpc.common.results import STATE_ERRORS, TRACE_ERRORS, TRANSACTION_NOT_FOUND, data
from wsnode.ethereum.rpc.common.schemas import BYTES, HASH, TRANSACTION
from wsnode.ethereum.rpc.common.worker_thread import Tracing
from wsnode.ethereum.rpc.otterscan import blocks
from wsnode.ethereum.rpc.otterscan.account_history import AccountHistoryMethods
from wsnode.ethereum.rpc.otterscan.parameters import HashParameters
from wsnode.ethereum.rpc.otterscan.schemas import CALLS, CREATOR, OPERATIONS, PAGE
from wsnode.ethereum.rpc.otterscan.search import TransactionSearchMethods
from wsnode.ethereum.rpc.parity_traces.blocks import BlockTraceMethods
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.errors import limit_exceeded, server_error
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import or_null

NO_OUTPUT: Final = data(b"")
_SUCCESS: Final = "0x1"


class OtterscanOutcome(msgspec.Struct):
    """The status of a receipt; None before Byzantium."""

    status: str | None = None


class OtterscanCall(msgspec.Struct):
    """The error of a call, None if it succeeded."""

    error: str | None = None


class OtterscanResult(msgspec.Struct):
    """The output of a transaction, and its calls, the outermost first."""

    output: msgspec.Raw
    trace: list[OtterscanCall]


class InternalTransactionMethods:
    """Handlers about the calls inside a transaction, built on the trace_ methods."""

    def __init__(self, traces: BlockTraceMethods) -> None:
        self._traces = traces

    def get_internal_operations(self, view: Snapshot, params: HashParameters) -> Tracing:
        """Return the list of a transaction's internal transfers of ether, creations and destructions."""
        return (yield from self._of(view, params, {"form": "operations"}))

    def trace_transaction(self, view: Snapshot, params: HashParameters) -> Tracing:
        """Return the list of a transaction's calls, creations and destructions, each with its depth."""
        return (yield from self._of(view, params, {"form": "entries"}))

    def get_transaction_error(self, view: Snapshot, params: HashParameters) -> Tracing:
        """Return the output of a reverted transaction, `0x` if it did not revert."""
        receipt = stored_receipt(view.reader, params.hash)
        if receipt is not None and msgspec.json.decode(receipt, type=OtterscanOutcome).status == _SUCCESS:
            return NO_OUTPUT
        found = yield from self._of(view, params, {"form": "results", "types": ["trace"]})
        result = msgspec.json.decode(found, type=OtterscanResult)
        has_reverted = result.trace[0].error == "Reverted"
        return bytes(result.output) if has_reverted else NO_OUTPUT

    def _of(self, view: Snapshot, params: HashParameters, form: dict[str, Any]) -> Tracing:
        found = yield from self._traces.of_transaction(view, params.hash, form)
        if not found:
            raise server_error("transaction not found")
        return found


_SEARCH_TIMEOUT: Final = limit_exceeded("search timeout exceeded")


def add_methods(registry: Registry, limits: CallLimits, pending: PendingState) -> None:
    """Register this module's methods."""
    blocks.add_methods(registry, pending)
    inside, history = (
        InternalTransactionMethods(BlockTraceMethods(limits, pending)),
        AccountHistoryMethods(limits),
    )
    searching = TransactionSearchMethods(limits)
    method = partial(registry.method, deadline=limits.trace_max_seconds, timeout_error=searching.timed_out)
    of_transaction = partial(method, errors=(*TRACE_ERRORS, TRANSACTION_NOT_FOUND))
    of_transaction("ots_getInternalOperations", result=OPERATIONS)(inside.get_internal_operations)
    of_transaction("ots_traceTransaction", result=CALLS)(inside.trace_transaction)
    of_transaction("ots_getTransactionError", result=BYTES)(inside.get_transaction_error)
    # The parameters are accounts of users, which no key can list in advance, so these methods name no
    # contracts.
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
