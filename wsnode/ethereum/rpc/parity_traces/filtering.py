"""trace_filter: chunks of blocks in a worker thread, within limits of time, traces and bytes."""

from collections.abc import Generator, Iterator
from typing import Any, Final, TypeAlias

import msgspec

from wsnode.ethereum.codec.rows import Rows, header_fields, transaction_count
from wsnode.ethereum.primitives.values import BlockNumber
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.lookup import numbered, rows
from wsnode.ethereum.rpc.common.parameters import EARLIEST, LATEST, PENDING, NumberOrTag, numbers
from wsnode.ethereum.rpc.common.worker_thread import SMALL_BYTES, Tracing, run_in_thread
from wsnode.ethereum.rpc.parity_traces.blocks import ALL
from wsnode.ethereum.rpc.parity_traces.parameters import TraceFilter
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import CancelFlag, parity_filter
from wsnode.jsonrpc.errors import invalid_params, limit_exceeded, response_too_large
from wsnode.jsonrpc.work import JsonText, Step

BLOCKS_AT_ONCE: Final = 64
"""Blocks read in one slice: a fraction of a millisecond."""
TRANSACTIONS_AT_ONCE: Final = 256
"""Transactions traced between two checks of the time: about a tenth of a second."""

Chunk: TypeAlias = list[tuple[int, Rows]]


class FilterParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[filter]`: an object with a range of blocks, senders, recipients, and a page of the matches."""

    filter: TraceFilter


class FilteredTraces:
    """Result of trace_filter so far: the traces found, the number of matches still to skip (`after`), and the
    number that may still be returned (`count`).
    """

    def __init__(self, wanted: TraceFilter, limits: CallLimits) -> None:
        self._limits = limits
        self._encoded = wanted.encoded()
        self._skip = wanted.after
        self._count = min(ALL if wanted.count is None else wanted.count, limits.trace_filter_results + 1)
        self.pieces: list[bytes] = []
        self.size = 0
        self.taken = 0
        self.crossed: int | None = None
        """The block of the first trace beyond the limit."""

    @property
    def is_full(self) -> bool:
        return self.taken >= self._count or self.crossed is not None

    def look(self, view: Snapshot, chunk: Chunk, flag: CancelFlag) -> bool | str:
        """Add the traces of a chunk of blocks until the page is full; return True, or the engine's refusal as
        text.

        A worker thread runs it.
        """
        for number, found in chunk:
            if self.is_full:
                break
            if isinstance(outcome := self._traces_of(view, found, flag), str):
                return outcome
            self._add(number, *outcome)
        return True

    def _traces_of(self, view: Snapshot, found: Rows, flag: CancelFlag) -> tuple[JsonText, int] | str:
        return parity_filter(
            view.state,
            found,
            self._encoded,
            skip=min(self._skip, ALL),
            count=self._count - self.taken,
            seconds=self._limits.trace_seconds,
            size=max(self._limits.trace_bytes - self.size, 0),
            cancel=flag,
        )

    def _add(self, number: int, text: bytes, found: int) -> None:
        new = max(found - self._skip, 0)
        self._skip = max(self._skip - found, 0)
        self.taken += new
        if self.taken > self._limits.trace_filter_results:
            self.crossed = number
        if text:
            self.pieces.append(text)
            self.size += len(text) + 1


class TraceFilterMethods:
    """Handler of trace_filter, within its limits."""

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits
        self.timed_out = limit_exceeded("query timeout exceeded")

    def filter(self, view: Snapshot, params: FilterParameters) -> Tracing:
        """Return the list of call and reward traces that match a filter, in chain order."""
        wanted = params.filter
        self._check(wanted)
        first, last = _range(view, wanted)
        found = FilteredTraces(wanted, self._limits)
        for chunk in chunks(view, iter(range(first, last + 1)), with_rewards=True):
            if found.is_full:
                break
            if chunk:
                yield from _look(view, chunk, found, self)
            else:
                yield None
        if found.crossed is not None:
            raise self._too_many(first, found.crossed)
        if found.size > self._limits.trace_bytes:
            raise response_too_large()
        return b"[%b]" % b",".join(found.pieces)

    def _check(self, wanted: TraceFilter) -> None:
        count = len(wanted.from_addresses) + len(wanted.to_addresses)
        if count > (limit := self._limits.logs_parameters):
            message = f"query contains {count} filters. The current limit is {limit}"
            raise invalid_params(message, {"count": count, "limit": limit})

    def _too_many(self, first: int, crossed: int) -> Exception:
        limit = self._limits.trace_filter_results
        proposal: dict[str, Any] = {"limit": limit}
        if crossed > first:
            proposal |= {"from": hex(first), "to": hex(crossed - 1)}
        return limit_exceeded(f"query returned more than {limit} results", proposal)


def _look(
    view: Snapshot, chunk: Chunk, found: FilteredTraces, filtering: TraceFilterMethods
) -> Generator[Step, Any, None]:
    # `found` holds the traces beside the earlier ones and counts their bytes as `found.size`, so the thread
    # itself reserves only `SMALL_BYTES`.
    yield from run_in_thread(
        lambda flag, _most: found.look(view, chunk, flag), SMALL_BYTES, filtering.timed_out
    )
    yield found.size


def chunks(view: Snapshot, numbers: Iterator[int], *, with_rewards: bool) -> Iterator[Chunk]:
    """Yield chunks of rows of traceable blocks; an empty chunk after many blocks without any."""
    chunk: Chunk = []
    transactions = looked_at = 0
    for number in numbers:
        looked_at += 1
        found = rows(view, number)
        assert found is not None, f"block {number} is canonical"
        if number > 0 and ((count := transaction_count(found[1])) or (with_rewards and _pays(found))):
            chunk.append((number, found))
            transactions += count
        if looked_at >= BLOCKS_AT_ONCE or transactions >= TRANSACTIONS_AT_ONCE:
            yield chunk
            chunk, transactions, looked_at = [], 0, 0
    yield chunk


def _pays(found: Rows) -> bool:
    return header_fields(found[0]).difficulty > 0


def _range(view: Snapshot, wanted: TraceFilter) -> tuple[BlockNumber, BlockNumber]:
    """Return the first and the last block to search.

    Raises:
        RpcError: They are in the wrong order or beyond the head, or no block has the tag yet.
    """
    if PENDING in (wanted.from_block, wanted.to_block):
        raise invalid_params("pending traces are not supported")
    first = _bound(view, EARLIEST if wanted.from_block is None else wanted.from_block)
    last = _bound(view, LATEST if wanted.to_block is None else wanted.to_block)
    if first > last:
        raise invalid_params("invalid block range params")
    return first, last


def _bound(view: Snapshot, number: NumberOrTag) -> BlockNumber:
    found = numbered(view, number)
    if found is None:
        raise invalid_params("block range extends beyond current head block")
    return found


def contracts_of(params: FilterParameters) -> list[int] | None:
    """Return the contracts that the filter names, None for a filter of all."""
    wanted = params.filter
    return numbers([*wanted.from_addresses, *wanted.to_addresses]) or None
