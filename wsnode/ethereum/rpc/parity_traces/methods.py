"""Registration of the trace_ methods."""

from functools import partial

from wsnode.ethereum.rpc.calls.message import targets_of_call
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.pending_state import PendingState
from wsnode.ethereum.rpc.common.results import TRACE_ERRORS, TRACING_FAILED, TRANSACTION_NOT_FOUND
from wsnode.ethereum.rpc.parity_traces.blocks import BlockTraceMethods
from wsnode.ethereum.rpc.parity_traces.calls import CallTraceMethods, target_of_raw, targets_of_calls
from wsnode.ethereum.rpc.parity_traces.filtering import TraceFilterMethods, contracts_of
from wsnode.ethereum.rpc.parity_traces.schemas import (
    PLACED_TRACE,
    PLACED_TRACES,
    REPLAYED_BLOCK,
    TRACE_RESULTS,
)
from wsnode.jsonrpc.errors import limit_exceeded
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import list_of, or_null


def add_methods(registry: Registry, limits: CallLimits, pending: PendingState) -> None:
    """Register this module's methods."""
    blocks, calls = BlockTraceMethods(limits, pending), CallTraceMethods(limits, pending)
    method = partial(
        registry.method,
        deadline=limits.trace_max_seconds,
        timeout_error=blocks.timed_out,
        errors=TRACE_ERRORS,
    )
    method("trace_transaction", result=PLACED_TRACES)(blocks.trace_transaction)
    method("trace_get", result=or_null(PLACED_TRACE))(blocks.get_trace)
    method("trace_block", result=PLACED_TRACES)(blocks.trace_block)
    replaying = method(
        "trace_replayTransaction", result=TRACE_RESULTS, errors=(*TRACE_ERRORS, TRANSACTION_NOT_FOUND)
    )
    replaying(blocks.replay_transaction)
    method("trace_replayBlockTransactions", result=REPLAYED_BLOCK)(blocks.replay_block)
    called = partial(method, errors=(*TRACE_ERRORS, TRACING_FAILED))
    called("trace_call", result=TRACE_RESULTS, contracts=targets_of_call)(calls.trace_call)
    called("trace_callMany", result=list_of(TRACE_RESULTS), contracts=targets_of_calls)(calls.trace_calls)
    called("trace_rawTransaction", result=TRACE_RESULTS, contracts=target_of_raw)(calls.trace_raw)
    filtering = TraceFilterMethods(limits)
    registry.method(
        "trace_filter",
        result=list_of(PLACED_TRACE),
        errors=(*TRACE_ERRORS, filtering.timed_out, limit_exceeded("query returned more than 10000 results")),
        contracts=contracts_of,
        deadline=limits.trace_filter_seconds,
        timeout_error=filtering.timed_out,
    )(filtering.filter)
