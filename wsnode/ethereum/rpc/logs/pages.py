"""wsnode_getLogsPage: the logs of a filter in pages of bounded size, all from one chain."""

from collections.abc import Generator, Iterator
from typing import Any, TypeAlias

import msgspec

from wsnode.ethereum.absence import pruned_history
from wsnode.ethereum.live.arrivals import Awaited, Seen
from wsnode.ethereum.logs.cursor import Cursor
from wsnode.ethereum.logs.pages import LogPage, page_of_logs
from wsnode.ethereum.primitives.values import Hash32, hexadecimal
from wsnode.ethereum.rpc.form.decoding import kind, mismatch, parse_quantity
from wsnode.ethereum.rpc.form.limits import CallLimits
from wsnode.ethereum.rpc.form.lookup import require_kept
from wsnode.ethereum.rpc.form.named_contracts import numbers
from wsnode.ethereum.rpc.logs.cursor import PageCursor, digest_of, next_log, parse_cursor
from wsnode.ethereum.rpc.logs.filter_object import FilterObject, decode_filter_object
from wsnode.ethereum.rpc.logs.methods import LOG_ERRORS, block_range, wanted_logs
from wsnode.ethereum.rpc.logs.schemas import PAGE, PAGE_FILTER
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.errors import RESOURCE_NOT_FOUND, RpcError, invalid_params, limit_exceeded, server_error
from wsnode.jsonrpc.registry import Registry

Slices: TypeAlias = Generator[None, Any, bytes]


class PageFilter:
    """A filter of logs, the cursor to continue from, and the most logs of a page."""

    __slots__ = ("cursor", "filter", "limit")

    def __init__(self, filter_object: FilterObject, cursor: PageCursor | None, limit: int | None) -> None:
        self.filter = filter_object
        self.cursor = cursor
        self.limit = limit

    def named_blocks(self) -> Iterator[Awaited]:
        """Yield the blocks that it names: with a cursor its block alone, which a node has had."""
        if isinstance(self.cursor, Cursor):
            yield Seen(self.cursor.number, self.cursor.hash)
        elif self.cursor is None:
            yield from self.filter.named_blocks()


class PageParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[filter]`, with `cursor` and `limit` among its members."""

    filter: PageFilter


class Place(msgspec.Struct, frozen=True):
    """The first and the last log of a search, both numbered in the chain that ends with `last`."""

    begin: int
    end: int
    last: Hash32
    last_number: int


class LogPages:
    """The method within its limits."""

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits

    def get_page(self, view: Snapshot, params: PageParameters) -> Slices:
        """Return `{logs, cursor, block}`: a page of logs, the cursor of the next (null: none), the last
        block.
        """
        asked, digest = params.filter, digest_of(params.filter.filter)
        wanted = wanted_logs(asked.filter, self._limits)
        place = _resume(view, asked.cursor, digest) if asked.cursor else _begin(view, asked.filter)
        room = self._limits.logs_page_bytes
        page = yield from page_of_logs(
            view.reader, wanted, place.begin, place.end, room=room, most=asked.limit
        )
        cursor = None
        if not page.is_last:
            number, index = page.last_place
            following = view.log_count_before(number) + index + 1
            logs = following - view.log_count_before(place.last_number)
            cursor = str(Cursor(place.last_number, place.last, logs, digest))
        return _rendered(page, cursor, place)


def _rendered(page: LogPage, cursor: str | None, place: Place) -> bytes:
    block = {"number": hex(place.last_number), "hash": hexadecimal(place.last)}
    return b'{"logs":[%b],"cursor":%b,"block":%b}' % (
        b",".join(page.texts),
        msgspec.json.encode(cursor),
        msgspec.json.encode(block),
    )


def _begin(view: Snapshot, filter_object: FilterObject) -> Place:
    """Return where a filter's first page begins.

    Raises:
        RpcError: The blocks do not exist.
    """
    if filter_object.block_hash is None:
        first, last = block_range(view, filter_object)
    else:
        number = view.number_of(filter_object.block_hash)
        if number is None:
            known = view.block_rows(filter_object.block_hash) is not None
            raise server_error("hash is not currently canonical" if known else "unknown block")
        first = last = number
    last_hash = view.hash_of(last)
    assert last_hash is not None
    return Place(view.log_count_before(first), view.log_count_before(last + 1), last_hash, last)


def _resume(view: Snapshot, cursor: PageCursor, digest: bytes) -> Place:
    """Return where the page after a cursor begins.

    Raises:
        RpcError: The cursor belongs to another filter or to a chain that is no longer canonical, or blocks
            behind it are pruned.
    """
    if cursor.digest != digest:
        raise invalid_params("the cursor belongs to another filter")
    last = view.number_of(cursor.hash)
    if last is None:
        if isinstance(cursor, Cursor):
            require_kept(view, cursor.number)
        raise reorganised(cursor.hash)
    begin, end = next_log(cursor, view.log_count_before(last)), view.log_count_before(last + 1)
    if not 0 <= begin <= end:
        # No cursor of ours: the logs up to a block are equally many in every chain that has it.
        raise invalid_params("invalid cursor")
    if begin < view.log_count_before(view.earliest):
        # Logs that the page should have are gone with their blocks.
        raise pruned_history(view.earliest - 1, view.earliest)
    return Place(begin, end, cursor.hash, last)


def reorganised(block_hash: bytes) -> RpcError:
    """Return the error for a cursor whose block left the canonical chain."""
    return RpcError(
        RESOURCE_NOT_FOUND,
        "the chain was reorganised: the cursor's block is not canonical any more",
        {"reason": "reorganised", "blockHash": hexadecimal(block_hash)},
    )


def decode_page_filter(value: Any) -> PageFilter:
    """Return the filter, the cursor and the limit that a JSON object describes.

    Raises:
        ValueError: A member is malformed.
    """
    filter_object = decode_filter_object(value)
    cursor, limit = value.get("cursor"), value.get("limit")
    return PageFilter(
        filter_object,
        None if cursor is None else parse_cursor(cursor),
        None if limit is None else _decode_limit(limit),
    )


def _decode_limit(value: Any) -> int:
    if type(value) not in (int, str):
        raise mismatch(kind(value), "limit")
    limit = parse_quantity(value, 64) if type(value) is str else int(value)
    if limit < 1:
        raise ValueError("limit must be at least 1")
    return limit


def _contracts_of(params: PageParameters) -> list[int] | None:
    return numbers(params.filter.filter.wanted.addresses) or None


def add_methods(registry: Registry, limits: CallLimits) -> None:
    """Register this module's method."""
    method = registry.method(
        "wsnode_getLogsPage",
        result=PAGE,
        errors=(*LOG_ERRORS, RpcError(RESOURCE_NOT_FOUND, "the chain was reorganised")),
        contracts=_contracts_of,
        deadline=limits.logs_seconds,
        timeout_error=limit_exceeded("query timeout exceeded"),
    )
    method(LogPages(limits).get_page)


register_type(PageFilter, decode_page_filter, PAGE_FILTER)
