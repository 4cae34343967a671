"""trace_… methods of calls and of signed transactions outside blocks."""

from collections.abc import Generator, Iterable
from typing import Any, TypeAlias

import msgspec

from wsnode.ethereum.codec.blocks import BuiltBlock
from wsnode.ethereum.codec.rlp import recipient_of
from wsnode.ethereum.rpc.calls.call_object import CallObject
from wsnode.ethereum.rpc.calls.execution import fields_of
from wsnode.ethereum.rpc.calls.message import message_of, targets
from wsnode.ethereum.rpc.calls.overrides import (
    NO_BLOCK_OVERRIDES,
    NO_STATE_OVERRIDES,
    BlockOverrides,
    StateOverrides,
)
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.parameters import LATEST_BLOCK, BlockParameter, Data, numbers
from wsnode.ethereum.rpc.common.pending_state import PendingState
from wsnode.ethereum.rpc.common.worker_thread import Tracing, run_in_thread
from wsnode.ethereum.rpc.parity_traces.parameters import TracedCalls, TraceTypes
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import CancelFlag, call_gas_cap, parity_calls, parity_raw
from wsnode.jsonrpc.errors import server_error
from wsnode.jsonrpc.work import JsonText, Step

Results: TypeAlias = Generator[Step, Any, list[bytes]]


class TraceCallParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[call, types, block, state overrides, block overrides]`; without `block`, the latest."""

    call: CallObject
    types: TraceTypes
    block: BlockParameter = LATEST_BLOCK
    state_overrides: StateOverrides = NO_STATE_OVERRIDES
    block_overrides: BlockOverrides = NO_BLOCK_OVERRIDES


class CallsParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[calls, block]`: an array of `[call, types]`, each executed after the one before. Without `block`, the
    latest.
    """

    calls: TracedCalls
    block: BlockParameter = LATEST_BLOCK


class RawParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[transaction, types, block]`: a signed transaction as hex, and the types of traces. Without `block`,
    the latest.
    """

    transaction: Data
    types: TraceTypes
    block: BlockParameter = LATEST_BLOCK


class CallTraceMethods:
    """Handlers that trace calls and signed transactions, within the limits of traces."""

    def __init__(self, limits: CallLimits, pending: PendingState) -> None:
        self._limits = limits
        self._pending = pending
        self.timed_out = server_error("execution timeout")

    def trace_call(self, view: Snapshot, params: TraceCallParameters) -> Tracing:
        """Return the output of a call on the state after a block, and its traces of the requested types."""
        if unsupported := params.block_overrides.unsupported:
            raise server_error(f'block override "{unsupported}" is not supported for this RPC method')
        header = yield from self._pending.header(view, params.block)
        calls = TracedCalls([(params.call, params.types)])
        (text,) = yield from self._run(
            view, header, calls, params.state_overrides or None, params.block_overrides
        )
        return text

    def trace_calls(self, view: Snapshot, params: CallsParameters) -> Tracing:
        """Return for each call its output and traces of the requested types; each runs on the state that
        the calls before it left.
        """
        header = yield from self._pending.header(view, params.block)
        texts = yield from self._run(view, header, params.calls)
        return b"[%b]" % b",".join(texts)

    def _run(
        self,
        view: Snapshot,
        header: bytes | BuiltBlock,
        calls: TracedCalls,
        state_overrides: bytes | None = None,
        block_overrides: BlockOverrides = NO_BLOCK_OVERRIDES,
    ) -> Results:
        fields, limits, chain_id = fields_of(header), self._limits, view.spec.chain_id
        has_base_fee = fields.base_fee is not None or block_overrides.has_base_fee

        def run(flag: CancelFlag, most_bytes: int) -> list[JsonText] | str:
            messages = [
                (message_of(call, chain_id=chain_id, with_base_fee=has_base_fee), bytes(types))
                for call, types in calls
            ]
            return parity_calls(
                view.state,
                header,
                messages,
                gas_cap=call_gas_cap(fields.gas_limit, limits.call_gas_blocks),
                seconds=limits.trace_seconds,
                size=most_bytes,
                cancel=flag,
                state_overrides=state_overrides,
                block_overrides=block_overrides or None,
            )

        return run_in_thread(run, limits.trace_bytes, self.timed_out)

    def trace_raw(self, view: Snapshot, params: RawParameters) -> Tracing:
        """Return the output of a signed transaction on the state after a block, and its traces of the
        requested types.
        """
        header = yield from self._pending.header(view, params.block)
        encoded, types, limits = bytes(params.transaction), bytes(params.types), self._limits

        def run(flag: CancelFlag, most_bytes: int) -> JsonText | str:
            return parity_raw(
                view.state,
                header,
                encoded,
                types,
                seconds=limits.trace_seconds,
                size=most_bytes,
                cancel=flag,
            )

        return (yield from run_in_thread(run, limits.trace_bytes, self.timed_out))


def targets_of_calls(params: CallsParameters) -> Iterable[int] | None:
    """Return the addresses, as integers, that a list of calls names; None if their code can read any
    contract.
    """
    return targets([call for call, _types in params.calls])


def target_of_raw(params: RawParameters) -> list[int] | None:
    """Return the contract that a signed transaction calls; None if it creates one or is malformed."""
    target = recipient_of(params.transaction)
    return None if target is None else numbers([target])
