"""The trace_ methods under their names."""

from wsnode.ethereum.building.pending_block import PendingBlock
from wsnode.ethereum.rpc.form.limits import CallLimits
from wsnode.ethereum.rpc.parity.blocks import BlockTraces
from wsnode.ethereum.rpc.parity.calls import CallTraces
from wsnode.ethereum.rpc.parity.filtering import Filtering
from wsnode.jsonrpc.registry import Registry


def add_methods(registry: Registry, limits: CallLimits, pending: PendingBlock) -> None:
    """Register the methods."""
    of_blocks, of_calls, filtering = (
        BlockTraces(limits, pending),
        CallTraces(limits, pending),
        Filtering(limits),
    )
    longest = limits.trace_longest_seconds
    for name, handler in (
        ("trace_transaction", of_blocks.trace_transaction),
        ("trace_get", of_blocks.get_trace),
        ("trace_block", of_blocks.trace_block),
        ("trace_replayTransaction", of_blocks.replay_transaction),
        ("trace_replayBlockTransactions", of_blocks.replay_block),
        ("trace_call", of_calls.trace_call),
        ("trace_callMany", of_calls.trace_calls),
        ("trace_rawTransaction", of_calls.trace_raw),
    ):
        registry.method(name, deadline=longest, timeout_error=of_blocks.timed_out)(handler)
    of_filter = registry.method(
        "trace_filter", deadline=limits.trace_filter_seconds, timeout_error=filtering.timed_out
    )
    of_filter(filtering.filter)
