"""trace_… methods of stored transactions and blocks."""

from typing import Any, Final

import msgspec

from wsnode.ethereum.codec.rows import Rows, header_fields, transaction_count
from wsnode.ethereum.rpc.blocks.methods import HashParameters
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.lookup import is_pending, numbered_rows, require_kept, rows
from wsnode.ethereum.rpc.common.parameters import BlockParameter, BlockParameters
from wsnode.ethereum.rpc.common.pending_state import PendingState
from wsnode.ethereum.rpc.common.results import NULL
from wsnode.ethereum.rpc.common.worker_thread import Tracing, run_in_thread
from wsnode.ethereum.rpc.parity_traces.parameters import TracePath, TraceTypes
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import CancelFlag, parity_block, parity_filter, parity_transaction
from wsnode.jsonrpc.errors import server_error
from wsnode.jsonrpc.work import JsonText

ALL: Final = (1 << 63) - 1
EVERY_TRACE: Final = b"{}"
NOTHING: Final = b"[]"


class TracePathParameters(HashParameters, array_like=True, frozen=True, gc=False):
    """`[transaction hash, place]`; `place` is an array, the index of a subcall at each level."""

    place: TracePath


class ReplayTransactionParameters(HashParameters, array_like=True, frozen=True, gc=False):
    """`[transaction hash, types]`; `types` is an array of `trace`, `vmTrace`, `stateDiff`."""

    types: TraceTypes


class ReplayBlockParameters(BlockParameters, array_like=True, frozen=True, gc=False):
    """`[block, types]`, by number, tag or hash; `types` is an array of `trace`, `vmTrace`, `stateDiff`."""

    types: TraceTypes


class BlockTraceMethods:
    """Handlers that trace stored transactions and blocks, within the limits of traces."""

    def __init__(self, limits: CallLimits, pending: PendingState) -> None:
        self._limits = limits
        self._pending = pending
        self.timed_out = server_error("execution timeout")

    def trace_transaction(self, view: Snapshot, params: HashParameters) -> Tracing:
        """Return the list of a canonical transaction's call traces, outer calls first, or null if unknown."""
        return (yield from self.of_transaction(view, params.hash, {"form": "traces"})) or NULL

    def get_trace(self, view: Snapshot, params: TracePathParameters) -> Tracing:
        """Return the call trace at a place in a canonical transaction's tree of calls, or null."""
        form = {"form": "trace", "path": list(params.place)}
        return (yield from self.of_transaction(view, params.hash, form)) or NULL

    def replay_transaction(self, view: Snapshot, params: ReplayTransactionParameters) -> Tracing:
        """Return a canonical transaction's output and its traces of the requested types."""
        form = {"form": "results", "types": msgspec.Raw(params.types)}
        found = yield from self.of_transaction(view, params.hash, form)
        if not found:
            raise server_error("transaction not found")
        return found

    def of_transaction(self, view: Snapshot, transaction_hash: bytes, form: dict[str, Any]) -> Tracing:
        """Return the trace of a canonical transaction in one of the engine's forms, empty if it is
        unknown.
        """
        place = view.transaction(transaction_hash)
        if place is None:
            return b""
        found, index = rows(view, place[0]), place[1]
        assert found is not None, "a transaction's block is stored"
        encoded, limits = msgspec.json.encode(form), self._limits

        def run(flag: CancelFlag, most_bytes: int) -> JsonText | str:
            return parity_transaction(
                view.state,
                found,
                encoded,
                index=index,
                seconds=limits.trace_seconds,
                size=most_bytes,
                cancel=flag,
            )

        return (yield from run_in_thread(run, limits.trace_bytes, self.timed_out))

    def trace_block(self, view: Snapshot, params: BlockParameters) -> Tracing:
        """Return the list of call traces of a block's transactions and of its rewards, or null if unknown."""
        found = yield from self._rows(view, params.block)
        if found is None or is_genesis(found):
            return NULL if found is None else NOTHING
        limits = self._limits

        def run(flag: CancelFlag, most_bytes: int) -> tuple[JsonText, int] | str:
            return parity_filter(
                view.state,
                found,
                EVERY_TRACE,
                skip=0,
                count=ALL,
                seconds=limits.trace_seconds,
                size=most_bytes,
                cancel=flag,
            )

        traces, _count = yield from run_in_thread(run, limits.trace_bytes, self.timed_out)
        return b"[%b]" % traces

    def replay_block(self, view: Snapshot, params: ReplayBlockParameters) -> Tracing:
        """Return for each transaction of a block its output and its traces of the requested types, or
        null.
        """
        found = yield from self._rows(view, params.block)
        if found is None or transaction_count(found[1]) == 0:
            return NULL if found is None else NOTHING
        types, limits = bytes(params.types), self._limits

        def run(flag: CancelFlag, most_bytes: int) -> JsonText | str:
            return parity_block(
                view.state,
                found,
                types,
                seconds=limits.trace_seconds,
                size=most_bytes,
                cancel=flag,
            )

        return (yield from run_in_thread(run, limits.trace_bytes, self.timed_out))

    def _rows(self, view: Snapshot, block: BlockParameter) -> Any:
        """Return the rows of a traceable block, None if it is unknown."""
        if is_pending(view, block.number):
            built = yield from self._pending.state_after(view)
            return built.header, built.body
        if block.number is not None:
            found = numbered_rows(view, block.number)
            if found is not None and not is_genesis(found):
                require_kept(view, header_fields(found[0]).number - 1)
            return found
        assert block.hash is not None
        found = view.block_rows(block.hash)
        if found is None or is_genesis(found):
            return found
        header = header_fields(found[0])
        is_canonical = view.hash_of(header.number) == header.hash
        require_kept(view, header.number - 1)
        parent_is = view.hash_of(header.number - 1) == header.parent_hash
        if not parent_is or (block.require_canonical and not is_canonical):
            raise server_error("hash is not currently canonical")
        return found


def is_genesis(found: Rows) -> bool:
    """Return True if the rows are those of the genesis block."""
    return header_fields(found[0]).number == 0
