"""debug_trace…: transactions, blocks and calls, traced by geth's tracers."""

import re
from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import Any, Final

import msgspec

from wsnode.ethereum.codec.blocks import UnverifiedBlock, decode_blocks
from wsnode.ethereum.codec.rows import Header, Rows, header_fields, transaction_hashes
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.rpc.blocks.methods import BlockHashParameters, HashParameters
from wsnode.ethereum.rpc.calls.call_object import CallObject
from wsnode.ethereum.rpc.calls.message import message_of, targets
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.lookup import is_pending, numbered_rows, require_kept, rows
from wsnode.ethereum.rpc.common.parameters import (
    LATEST_BLOCK,
    BlockParameter,
    Data,
    NumberOrTag,
    any_contract,
)
from wsnode.ethereum.rpc.common.pending_state import PendingState
from wsnode.ethereum.rpc.common.results import STATE_ERRORS, TRACING_FAILED, TRANSACTION_NOT_FOUND
from wsnode.ethereum.rpc.common.worker_thread import Tracing, run_in_thread
from wsnode.ethereum.rpc.debug_traces.options import (
    NO_CALL_OPTIONS,
    NO_OPTIONS,
    CallTraceOptions,
    TraceOptions,
    is_script,
)
from wsnode.ethereum.rpc.debug_traces.schemas import TRACE, TRACES
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import (
    CancelFlag,
    call_gas_cap,
    trace_block,
    trace_call,
)
from wsnode.jsonrpc.errors import RpcError, limit_exceeded, response_too_large, server_error, shortened
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import JsonText, RunInThread, Step

_SECONDS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
_UNIT: Final = re.compile(r"[^.0-9]*")
MAX_DURATION: Final = 100
"""Characters of a duration; Go parses longer ones."""


def seconds_of(text: str) -> float:
    """Return the seconds of a duration such as `1m30s`.

    Raises:
        ValueError: It is no duration, in Go's words.
    """
    if len(text) > MAX_DURATION:
        raise ValueError(f'time: invalid duration "{shortened(text)}"')
    sign = -1.0 if text[:1] == "-" else 1.0
    position = 1 if text[:1] in {"-", "+"} else 0
    if text[position:] == "0":
        return 0.0
    total = 0.0
    while position < len(text) or text in {"", "-", "+"}:
        number = _NUMBER.match(text, position)
        if number is None:
            raise ValueError(f'time: invalid duration "{text}"')
        unit = _UNIT.match(text, number.end())
        assert unit is not None, "it matches nothing, too"
        if not unit[0]:
            raise ValueError(f'time: missing unit in duration "{text}"')
        if unit[0] not in _SECONDS:
            raise ValueError(f'time: unknown unit "{unit[0]}" in duration "{text}"')
        total += float(number[0]) * _SECONDS[unit[0]]
        position = unit.end()
    return sign * total


HASH_SIZE: Final = 32

_ERRORS: Final = (
    *STATE_ERRORS,
    TRANSACTION_NOT_FOUND,
    server_error("block #N not found"),
    server_error("genesis is not traceable"),
    TRACING_FAILED,
    server_error("tracers in JavaScript are not supported"),
    response_too_large(),
)
_ENCODED_ERRORS: Final = (
    server_error("could not decode block: …"),
    limit_exceeded("block has more than N bytes"),
)


class BlockHashTraceParameters(BlockHashParameters, array_like=True, frozen=True, gc=False):
    """`[block's hash, options]`; the options name the tracer."""

    options: TraceOptions = NO_OPTIONS


class HashTraceParameters(HashParameters, array_like=True, frozen=True, gc=False):
    """`[hash, options]`, the transaction's hash; the options name the tracer."""

    options: TraceOptions = NO_OPTIONS


class NumberTraceParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[block number, options]`."""

    block: NumberOrTag
    options: TraceOptions = NO_OPTIONS


class EncodedTraceParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[RLP of a block, options]`."""

    encoded: Data
    options: TraceOptions = NO_OPTIONS


class CallTraceParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[call, block, options]`; without `block`, the latest."""

    call: CallObject
    block: BlockParameter = LATEST_BLOCK
    options: CallTraceOptions = NO_CALL_OPTIONS


class DebugTraceMethods:
    """Handlers of debug_trace…, within the limits of traces."""

    def __init__(self, limits: CallLimits, pending: PendingState) -> None:
        self._limits = limits
        self._pending = pending
        self.timed_out = server_error("execution timeout")

    def trace_transaction(self, view: Snapshot, params: HashTraceParameters) -> Tracing:
        """Return the trace of a canonical transaction, in the form of the chosen tracer (struct logs by
        default).
        """
        place = view.transaction(params.hash)
        if place is None:
            raise server_error("transaction not found")
        number, index = place
        found = rows(view, number)
        assert found is not None, "a transaction's block is stored"
        return (yield from self.trace_stored(view, found, params.options, index))

    def trace_block_by_number(self, view: Snapshot, params: NumberTraceParameters) -> Tracing:
        """Return a list of `{txHash, result}`: the traces of all transactions of a canonical or the pending
        block.
        """
        if is_pending(view, params.block):
            built = yield from self._pending.state_after(view)
            return (yield from self._trace_block(view, (built.header, built.body), params.options))
        found = numbered_rows(view, params.block)
        if found is None:
            raise server_error(f"block #{int(params.block)} not found")
        return (yield from self._trace_block(view, found, params.options))

    def trace_block_by_hash(self, view: Snapshot, params: BlockHashTraceParameters) -> Tracing:
        """Return a list of `{txHash, result}`: the traces of all transactions of a block with a canonical
        parent.
        """
        return (yield from self._trace_block(view, _hashed(view, params.hash), params.options))

    def trace_encoded_block(self, view: Snapshot, params: EncodedTraceParameters) -> Tracing:
        """Return a list of `{txHash, result}`: the traces of all transactions of a block given as RLP."""
        block = yield from self._decoded(view, params.encoded)
        found = block.header, block.body
        self._check_sent(view, header_fields(found[0]))
        return (yield from self._trace_block(view, found, params.options))

    def _decoded(self, view: Snapshot, encoded: bytes) -> Generator[Step, Any, UnverifiedBlock]:
        if len(encoded) > self._limits.trace_block_bytes:
            raise limit_exceeded(f"block has more than {self._limits.trace_block_bytes} bytes")
        # Decoding also recovers the senders of the block's transactions, which takes too long for the event
        # loop.
        blocks, error = yield RunInThread(lambda _token: decode_blocks(view.spec, [encoded]))
        if error is not None:
            raise server_error(f"could not decode block: expected {error.expected}, got {error.actual}")
        block: UnverifiedBlock = blocks[0]
        return block

    def _check_sent(self, view: Snapshot, header: Header) -> None:
        """Refuse a block without a canonical parent, or with a gas limit above that of any call."""
        if header.number == 0:
            return
        parent = view.header(header.number - 1)
        if parent is None:
            raise server_error(f"block #{header.number - 1} not found")
        if header_fields(parent).hash != header.parent_hash:
            _hashed(view, Hash32(header.parent_hash))
        most = call_gas_cap(header_fields(parent).gas_limit, self._limits.call_gas_blocks)
        if header.gas_limit > most:
            raise limit_exceeded(f"gas limit {header.gas_limit} of the block exceeds {most}")

    def _trace_block(self, view: Snapshot, found: Rows, options: TraceOptions) -> Tracing:
        header = header_fields(found[0])
        if header.number == 0:
            raise server_error("genesis is not traceable")
        require_kept(view, header.number - 1)
        if view.hash_of(header.number - 1) != header.parent_hash:
            raise server_error("hash is not currently canonical")
        if is_script(options.tracer):
            return _refused_one_by_one(found, options)
        return (yield from self.trace_stored(view, found, options, None))

    def trace_stored(self, view: Snapshot, found: Rows, options: TraceOptions, index: int | None) -> Tracing:
        """Return the traces of a block's transactions, or of the one at `index`."""
        seconds = self._seconds(view, options)

        def run(flag: CancelFlag, most_bytes: int) -> JsonText | str:
            return trace_block(
                view.state,
                found,
                options.encoded(),
                index=index,
                seconds=seconds,
                size=most_bytes,
                cancel=flag,
            )

        return self._in_thread(run)

    def trace_call(self, view: Snapshot, params: CallTraceParameters) -> Tracing:
        """Return the trace of a call on the state after a block, or after some of its transactions."""
        found, options = _called_on(view, params.block), params.options
        header = header_fields(found[0])
        _check_call_options(found, header.hash, options)
        has_base_fee = header.base_fee is not None or options.block_overrides.has_base_fee
        seconds = self._seconds(view, options)

        def run(flag: CancelFlag, most_bytes: int) -> JsonText | str:
            return trace_call(
                view.state,
                found,
                message_of(params.call, chain_id=view.spec.chain_id, with_base_fee=has_base_fee),
                options.encoded(),
                gas_cap=call_gas_cap(header.gas_limit, self._limits.call_gas_blocks),
                seconds=seconds,
                size=most_bytes,
                cancel=flag,
                transactions=options.transactions,
                state_overrides=options.state_overrides or None,
                block_overrides=options.block_overrides or None,
            )

        return (yield from self._in_thread(run))

    def _seconds(self, view: Snapshot, options: TraceOptions) -> float:
        usual = self._limits.trace_seconds
        if options.timeout is None:
            return usual
        try:
            wanted = seconds_of(options.timeout)
        except ValueError as error:
            raise server_error(str(error)) from None
        # Only callers with a key may ask for more time: threads are few, and callers without a key are
        # indistinguishable.
        return wanted if view.caller.key_name is not None else min(wanted, usual)

    def _in_thread(self, run: Callable[[CancelFlag, int], bytes | str]) -> Tracing:
        return run_in_thread(run, self._limits.trace_bytes, self.timed_out)


def _refused_one_by_one(found: Rows, options: TraceOptions) -> JsonText:
    """Return geth's error for each transaction under a tracer that it takes for JavaScript."""
    try:
        options.encoded()
    except RpcError as error:
        hashes = transaction_hashes(found[1])
        each = [hashes[start : start + HASH_SIZE] for start in range(0, len(hashes), HASH_SIZE)]
        return msgspec.json.encode(
            [{"txHash": f"0x{found_hash.hex()}", "error": error.message} for found_hash in each]
        )
    return b"[]"


def _hashed(view: Snapshot, block_hash: Hash32) -> Rows:
    found = view.block_rows(block_hash)
    if found is None:
        raise server_error(f"block 0x{block_hash.hex()} not found")
    return found


def _check_call_options(found: Rows, block_hash: bytes, options: CallTraceOptions) -> None:
    count = options.transactions
    if count is not None and count >= len(transaction_hashes(found[1])) // HASH_SIZE:
        raise server_error(f"transaction index {count} out of range for block 0x{block_hash.hex()}")
    if unsupported := options.block_overrides.unsupported:
        raise server_error(f'block override "{unsupported}" is not supported for this RPC method')


def _called_on(view: Snapshot, block: BlockParameter) -> Rows:
    if block.number is None:
        assert block.hash is not None
        found = _hashed(view, block.hash)
        if view.number_of(block.hash) is None:
            raise server_error("hash is not currently canonical")
        return found
    if is_pending(view, block.number):
        raise server_error("tracing on top of pending is not supported")
    numbered = numbered_rows(view, block.number)
    if numbered is None:
        raise server_error(f"block #{int(block.number)} not found")
    return numbered


def _targets(params: CallTraceParameters) -> Iterable[int] | None:
    return targets([params.call], params.options.state_overrides)


def add_methods(registry: Registry, limits: CallLimits, pending: PendingState) -> None:
    """Register this module's methods."""
    traces = DebugTraceMethods(limits, pending)
    method = partial(
        registry.method, deadline=limits.trace_max_seconds, timeout_error=traces.timed_out, errors=_ERRORS
    )
    method("debug_traceTransaction", result=TRACE)(traces.trace_transaction)
    method("debug_traceBlockByNumber", result=TRACES)(traces.trace_block_by_number)
    method("debug_traceBlockByHash", result=TRACES)(traces.trace_block_by_hash)
    # A block given as RLP may call any contract.
    encoded = method(
        "debug_traceBlock", result=TRACES, errors=(*_ERRORS, *_ENCODED_ERRORS), contracts=any_contract
    )
    encoded(traces.trace_encoded_block)
    method("debug_traceCall", result=TRACE, contracts=_targets)(traces.trace_call)
