"""eth_getLogs: found by the index, rendered by the engine, in slices under a time limit."""

from collections.abc import Generator, Iterator, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from wsnode.ethereum.codec.chain_tables import LogCriteria
from wsnode.ethereum.codec.rendering import stored_logs
from wsnode.ethereum.codec.rows import log_count
from wsnode.ethereum.logs.filter import LogFilter
from wsnode.ethereum.logs.index import search_logs
from wsnode.ethereum.logs.matches import BlockLogs, LogMatches
from wsnode.ethereum.primitives.values import BlockNumber
from wsnode.ethereum.rpc.form.errors import PRUNED
from wsnode.ethereum.rpc.form.limits import CallLimits
from wsnode.ethereum.rpc.form.lookup import require_kept, tagged
from wsnode.ethereum.rpc.form.named_contracts import numbers
from wsnode.ethereum.rpc.form.parameters import PENDING, TAG_NAMES, NumberOrTag
from wsnode.ethereum.rpc.form.text_parameters import TextParameters
from wsnode.ethereum.rpc.logs.filter_object import FilterObject
from wsnode.ethereum.rpc.logs.schemas import LOGS
from wsnode.ethereum.rpc.logs.side_blocks import logs_of_side_block
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import read_log_filter
from wsnode.jsonrpc.errors import RpcError, invalid_params, limit_exceeded, server_error
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import Pieces

Slices: TypeAlias = Generator[int | None, Any, bytes | Pieces]

LOG_ERRORS: Final = (server_error("unknown block"), PRUNED)


class LogParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[filter]`."""

    filter: FilterObject


PARAMETERS: Final = TextParameters(LogParameters)


class Logs:
    """The method within its limits."""

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits

    def get_logs(self, view: Snapshot, params: LogParameters) -> Slices:
        """Return the logs that match a filter, in chain order."""
        wanted, block_hash = wanted_logs(params.filter, self._limits), params.filter.block_hash
        if block_hash is None:
            first, last = block_range(view, params.filter)
        elif (number := view.number_of(block_hash)) is not None:
            first = last = number
        elif view.block_rows(block_hash) is not None:
            return logs_of_side_block(view, block_hash, wanted)
        else:
            raise server_error("unknown block")
        return (yield from self._found(view, wanted.criteria, first, last))

    def get_logs_of_text(self, view: Snapshot, params: bytes) -> Slices:
        """Return the logs that match a filter, in chain order.

        Takes the parameters as JSON text.
        """
        return (yield from self.get_logs(view, PARAMETERS.read(params)))

    def get_logs_at_once(self, view: Snapshot, params: bytes) -> bytes | Pieces | Slices:
        """Return the logs of a short search, or the steps that continue a long one."""
        slices = self._from_text(view, params) or self.get_logs_of_text(view, params)
        try:
            next(slices)
        except StopIteration as end:
            found: bytes | Pieces = end.value
            return found
        return _resumed(slices)

    def _from_text(self, view: Snapshot, params: bytes) -> Slices | None:
        """Return the slices of the search, None for parameters in an unusual form."""
        if view.earliest:
            # The engine takes `earliest` for the genesis block.
            return None
        plain = read_log_filter(params, self._limits.logs_parameters, view.number)
        return None if plain is None else self._found(view, *plain)

    def _found(self, view: Snapshot, criteria: LogCriteria, first: int, last: int) -> Slices:
        limit = self._limits.logs_results
        matches = yield from search_logs(view.reader, criteria, first, last, limit=limit)
        if matches.exceeded:
            raise (yield from _too_many(view, criteria, first, last, limit))
        if matches.count <= self._limits.logs_slice:
            return _rendered(view, matches.blocks)
        return (yield from _render(view, matches, self._limits.logs_slice))


def _resumed(slices: Slices) -> Slices:
    """Continue after the first slice."""
    yield None
    return (yield from slices)


def wanted_logs(filter_object: FilterObject, limits: CallLimits) -> LogFilter:
    """Return the filter of single logs from a filter object.

    Raises:
        RpcError: It names more addresses and topics than are allowed.
    """
    wanted = filter_object.wanted
    if (count := wanted.parameter_count) > (limit := limits.logs_parameters):
        message = f"query contains {count} filters. The current limit is {limit}"
        raise invalid_params(message, {"count": count, "limit": limit})
    return wanted


def block_range(view: Snapshot, filter_object: FilterObject) -> tuple[BlockNumber, BlockNumber]:
    """Return the first and the last block to search.

    Raises:
        RpcError: They are in the wrong order, beyond the head or below the first block, or no block has the
            tag yet.
    """
    first, last = filter_object.from_block, filter_object.to_block
    if first is not None and last is not None and 0 <= last < first:
        raise invalid_params("invalid block range params")
    if PENDING in (first, last):
        raise invalid_params("pending logs are not supported")
    begin, end = _bound(view, first), _bound(view, last)
    if begin > end:
        raise invalid_params("invalid block range params")
    if end > view.number:
        raise invalid_params("block range extends beyond current head block")
    require_kept(view, begin)
    return begin, end


def _bound(view: Snapshot, number: NumberOrTag | None) -> BlockNumber:
    if number is None:
        return view.number
    if number >= 0:
        return BlockNumber(number)
    found = tagged(view, number)
    if found is None:
        raise server_error(f"{TAG_NAMES[number]} header not found")
    return found


def _rendered(view: Snapshot, blocks: Sequence[BlockLogs]) -> Pieces:
    return Pieces((b"[", stored_logs(view.reader, blocks), b"]"))


def _render(view: Snapshot, matches: LogMatches, slice_size: int) -> Slices:
    pieces = Pieces()
    waiting: list[BlockLogs] = []
    count = made = 0
    for block in matches.blocks:
        for some in some_at_once(view, block, slice_size):
            waiting.append(some)
            count += len(some.indices or ())
            if count >= slice_size:
                pieces += (b"," if pieces else b"[", stored_logs(view.reader, waiting))
                waiting, count = [], 0
                made += len(pieces[-1])
                yield made
    if waiting:
        pieces += (b"," if pieces else b"[", stored_logs(view.reader, waiting))
    pieces.append(b"]")
    return pieces


def some_at_once(view: Snapshot, block: BlockLogs, most: int) -> Iterator[BlockLogs]:
    """Yield a block's logs by their indices, at most `most` at a time."""
    wanted = range(_count(view, block.number)) if block.indices is None else block.indices
    for start in range(0, len(wanted), most):
        yield BlockLogs(block.number, wanted[start : start + most])


def _count(view: Snapshot, number: int) -> int:
    receipts = view.view_receipts(number)
    assert receipts is not None, f"block {number} is canonical"
    return log_count(receipts)


def _too_many(
    view: Snapshot, criteria: LogCriteria, first: int, last: int, limit: int
) -> Generator[None, Any, RpcError]:
    """Return the error that proposes the longest range from `first` on with no more than `limit` logs."""
    fitting = yield from longest_fitting(view, criteria, first, last, limit)
    proposal: dict[str, Any] = {"limit": limit}
    if fitting is not None:
        proposal |= {"from": hex(first), "to": hex(fitting)}
    return limit_exceeded(f"query returned more than {limit} results", proposal)


def longest_fitting(
    view: Snapshot, criteria: LogCriteria, first: int, last: int, limit: int
) -> Generator[None, Any, int | None]:
    """Return the last block up to which at most `limit` logs match, None if the first has more.

    All blocks `first` to `last` have more than `limit`.
    """
    fits, exceeds = first - 1, last
    while exceeds - fits > 1:
        middle = (fits + exceeds) // 2
        matches = yield from search_logs(view.reader, criteria, first, middle, limit=limit)
        fits, exceeds = (fits, middle) if matches.exceeded else (middle, exceeds)
    return fits if fits >= first else None


def contracts_of(params: LogParameters) -> list[int] | None:
    """Return the contracts that the filter names, None for a filter of all contracts."""
    return numbers(params.filter.wanted.addresses) or None


def add_methods(registry: Registry, limits: CallLimits) -> None:
    """Register this module's method."""
    logs = Logs(limits)
    method = registry.method(
        "eth_getLogs",
        result=LOGS,
        errors=(*LOG_ERRORS, limit_exceeded("query returned more than 10000 results")),
        contracts=contracts_of,
        deadline=limits.logs_seconds,
        timeout_error=limit_exceeded("query timeout exceeded"),
        at_once=logs.get_logs_at_once,
        decoder=PARAMETERS,
    )
    method(logs.get_logs_of_text)
