"""eth_getLogs: found by the index, rendered by the engine, in slices under a time limit."""

from collections.abc import Generator, Iterator, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from wsnode.ethereum.codec.chain_tables import LogCriteria
from wsnode.ethereum.codec.rendering import render_each_log, stored_logs
from wsnode.ethereum.codec.rows import log_count, log_values
from wsnode.ethereum.logs.filter import LogFilter
from wsnode.ethereum.logs.index import BlockLogs, LogMatches, search_logs
from wsnode.ethereum.logs.upstream_logs import RANGES_OF_A_CALL, UpstreamLogSearch, filter_members
from wsnode.ethereum.primitives.values import BlockNumber, hexadecimal
from wsnode.ethereum.rpc.common.below_fork import (
    ask_below,
    await_below,
    below_of,
    is_above,
    number_elsewhere,
    withheld,
)
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.lookup import require_kept, tagged
from wsnode.ethereum.rpc.common.parameters import PENDING, TAG_NAMES, NumberOrTag, TextParameters, numbers
from wsnode.ethereum.rpc.common.results import PRUNED
from wsnode.ethereum.rpc.logs.filter_object import FilterObject
from wsnode.ethereum.rpc.logs.schemas import LOGS
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import read_log_filter
from wsnode.jsonrpc.errors import RpcError, invalid_params, limit_exceeded, server_error
from wsnode.jsonrpc.generators import begun_at_once
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import JsonText, ReplyChunks


def logs_of_side_block(view: Snapshot, block_hash: bytes, wanted: LogFilter) -> JsonText:
    """Return the matching logs of a known side block.

    Raises:
        RpcError: It never was canonical, so it has not been executed.
    """
    found, receipts = view.block_rows(block_hash), view.side_receipts(block_hash)
    if found is None or receipts is None:
        raise server_error("hash is not currently canonical")
    indices = [index for index, log in enumerate(log_values(receipts)) if wanted.matches(log)]
    return b"[%b]" % b",".join(render_each_log(*found, receipts, indices))


Slices: TypeAlias = Generator[int | None, Any, bytes | ReplyChunks]

LOG_ERRORS: Final = (server_error("unknown block"), PRUNED)


class LogParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[filter]`: an object with blocks, addresses and topics."""

    filter: FilterObject


PARAMETERS: Final = TextParameters(LogParameters)


class LogMethods:
    """Handler of eth_getLogs, within the limits of calls."""

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits

    def get_logs(self, view: Snapshot, params: LogParameters) -> Slices:
        """Return the logs that match a filter, in chain order."""
        wanted, block_hash = wanted_logs(params.filter, self._limits), params.filter.block_hash
        if block_hash is None:
            first, last = block_range(view, params.filter, joins=view.below is not None)
            if first < view.earliest:
                return (yield from self._joined(view, wanted, first, last))
        elif (number := view.number_of(block_hash)) is not None:
            first = last = number
        elif view.block_rows(block_hash) is not None:
            return logs_of_side_block(view, block_hash, wanted)
        elif view.below is not None and (yield from _is_below(view, block_hash)):
            return (yield from _logs_of_upstream(view, wanted, {"blockHash": hexadecimal(block_hash)}))
        else:
            raise server_error("unknown block")
        return (yield from self._found(view, wanted.criteria, first, last))

    def _joined(self, view: Snapshot, wanted: LogFilter, first: int, last: int) -> Slices:
        """Return the logs of another node's blocks below the first one, followed by those of blocks here."""
        end = min(last, view.earliest - 1)
        below = yield from self._below(view, wanted, first, end)
        if end == last:
            return ReplyChunks((b"[", b",".join(below), b"]"))
        own = yield from self._found(view, wanted.criteria, view.earliest, last, told=len(below), begin=first)
        here = own if isinstance(own, bytes) else b"".join(own)
        comma = b"," if below and len(here) > NO_LOGS else b""
        return ReplyChunks((b"[", b",".join(below), comma, here[1:]))

    def _below(
        self, view: Snapshot, wanted: LogFilter, first: int, last: int
    ) -> Generator[Any, Any, list[JsonText]]:
        """Return the texts of the logs of blocks below the first one, from another node.

        Raises:
            RpcError: The node does not return them, or they are too many, or take too many requests.
        """
        limit, texts, size = self._limits.logs_results, list[bytes](), 0
        asked = RANGES_OF_A_CALL
        search = UpstreamLogSearch(below_of(view), wanted, first, last, span=last - first + 1, requests=asked)
        while not search.is_over:
            logs = yield from await_below(search.next_range)
            if len(texts) + len(logs) > limit:
                raise _exceeded(limit, first, logs[limit - len(texts)].number - 1)
            texts += [log.text for log in logs]
            size += sum(len(log.text) for log in logs)
            yield size
        if search.following <= last:
            message = (
                f"query of too many blocks: it takes more than {asked} requests to the forked chain's node"
            )
            raise limit_exceeded(message, _range(first, search.following - 1))
        return texts

    def get_logs_of_text(self, view: Snapshot, params: bytes) -> Slices:
        """Return the logs that match a filter, in chain order.

        Takes the parameters as JSON text.
        """
        return (yield from self.get_logs(view, PARAMETERS.read(params)))

    def get_logs_at_once(self, view: Snapshot, params: bytes) -> JsonText | ReplyChunks | Slices:
        """Return the logs of a short search, or the steps that continue a long one."""
        if view.below is not None:
            # On a forked chain the first step may be a request to another node, which `begun_at_once` would
            # discard.
            return self.get_logs_of_text(view, params)
        found: bytes | ReplyChunks | Slices = begun_at_once(
            self._from_text(view, params) or self.get_logs_of_text(view, params)
        )
        return found

    def _from_text(self, view: Snapshot, params: bytes) -> Slices | None:
        """Return the slices of the search, None for parameters in an unusual form."""
        if view.earliest:
            # The engine takes `earliest` for the genesis block.
            return None
        plain = read_log_filter(params, self._limits.logs_parameters, view.number)
        return None if plain is None else self._found(view, *plain)

    def _found(
        self,
        view: Snapshot,
        criteria: LogCriteria,
        first: int,
        last: int,
        *,
        told: int = 0,
        begin: int | None = None,
    ) -> Slices:
        """Return the logs of blocks here; `told` logs are in the blocks from `begin` to before `first`."""
        limit = self._limits.logs_results
        matches = yield from search_logs(view.reader, criteria, first, last, limit=limit - told)
        if matches.exceeded:
            fitting = yield from longest_fitting(view, criteria, first, last, limit - told)
            end = first - 1 if fitting is None else fitting
            raise _exceeded(limit, first if begin is None else begin, end)
        if matches.count <= self._limits.logs_slice:
            return _rendered(view, matches.blocks)
        return (yield from _render(view, matches, self._limits.logs_slice))


NO_LOGS: Final = len(b"[]")


def _is_below(view: Snapshot, block_hash: bytes) -> Generator[Any, Any, bool]:
    number = yield from number_elsewhere(view, "eth_getBlockByHash", block_hash)
    return number is not None and number < view.earliest


def _logs_of_upstream(
    view: Snapshot, wanted: LogFilter, blocks: dict[str, str]
) -> Generator[Any, Any, JsonText]:
    """Return the JSON text of the logs of a block below the first one, from another node.

    Raises:
        RpcError: The node does not return them.
    """
    text = yield from ask_below(view, "eth_getLogs", [blocks | filter_members(wanted)])
    if not (text.startswith(b"[") and text.endswith(b"]")) or is_above(text, view.earliest):
        raise withheld("eth_getLogs")
    return text


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


def block_range(
    view: Snapshot, filter_object: FilterObject, *, joins: bool = False
) -> tuple[BlockNumber, BlockNumber]:
    """Return the first and the last block to search, which may lie below the first one if the search `joins`.

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
    if not joins:
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


def _rendered(view: Snapshot, blocks: Sequence[BlockLogs]) -> ReplyChunks:
    return ReplyChunks((b"[", stored_logs(view.reader, blocks), b"]"))


def _render(view: Snapshot, matches: LogMatches, slice_size: int) -> Slices:
    pieces = ReplyChunks()
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


def _exceeded(limit: int, first: int, fitting: int) -> RpcError:
    """Return the error for more than `limit` logs, of which the blocks up to `fitting` have no more."""
    return limit_exceeded(
        f"query returned more than {limit} results", {"limit": limit} | _range(first, fitting)
    )


def _range(first: int, last: int) -> dict[str, Any]:
    """Return the range that an error proposes, nothing if it has no block."""
    return {"from": hex(first), "to": hex(last)} if first <= last else {}


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
    logs = LogMethods(limits)
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
