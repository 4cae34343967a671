"""wsnode_getLogsPage: the logs of a filter in pages of bounded size, all from one chain."""

from collections.abc import Generator, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from wsnode.ethereum.codec.rendering import stored_logs
from wsnode.ethereum.logs.index import LogMatches, first_logs
from wsnode.ethereum.primitives.values import Hash32, hexadecimal
from wsnode.ethereum.rpc.form.decoding import kind, mismatch, parse_quantity
from wsnode.ethereum.rpc.form.limits import CallLimits
from wsnode.ethereum.rpc.form.named_contracts import numbers
from wsnode.ethereum.rpc.logs.cursor import LogCursor, digest_of
from wsnode.ethereum.rpc.logs.filter_object import FilterObject, decode_filter_object
from wsnode.ethereum.rpc.logs.methods import LOG_ERRORS, block_range, some_at_once, wanted_logs
from wsnode.ethereum.rpc.logs.schemas import PAGE, PAGE_FILTER
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.errors import RESOURCE_NOT_FOUND, RpcError, invalid_params, limit_exceeded, server_error
from wsnode.jsonrpc.registry import Registry

Slices: TypeAlias = Generator[None, Any, bytes]

SMALLEST_LOG: Final = 340
"""Bytes of a rendered log without topics and data: bounds how many logs a page can hold."""
_LOGS_AT_ONCE: Final = 16


class PageFilter:
    """A filter of logs, the cursor to continue from, and the most logs of a page."""

    __slots__ = ("cursor", "filter", "limit")

    def __init__(self, filter_object: FilterObject, cursor: LogCursor | None, limit: int | None) -> None:
        self.filter = filter_object
        self.cursor = cursor
        self.limit = limit


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
        size = self._limits.logs_page_bytes
        most = max(min(asked.limit or size, size // SMALLEST_LOG), 1)
        matches = yield from first_logs(view.reader, wanted, place.begin, place.end, most)
        page = _Page(size)
        yield from page.fill(view, matches)
        cursor = None
        if matches.exceeded or page.is_full:
            cursor = str(LogCursor(place.last, page.next_log, digest))
        return page.render(cursor, place)


class _Page:
    """Rendered logs up to the size of a page."""

    def __init__(self, room: int) -> None:
        self._pieces: list[bytes] = []
        self._room = room
        self.next_log = 0
        """The number after the last log's."""
        self.is_full = False
        """Whether a log was left out."""

    def fill(self, view: Snapshot, matches: LogMatches) -> Generator[None, Any, None]:
        """Add logs in order until one does not fit."""
        count = 0
        for block in matches.blocks:
            before = view.log_count_before(block.number)
            for some in some_at_once(view, block, _LOGS_AT_ONCE):
                indices = some.indices or ()
                self._add(view, block.number, indices, before)
                if self.is_full:
                    return
                count += len(indices)
                if count >= _LOGS_AT_ONCE:
                    count = 0
                    yield

    def _add(self, view: Snapshot, number: int, indices: Sequence[int], before: int) -> None:
        piece = stored_logs(view.reader, [(number, indices)])
        # A log larger than a page is a page of its own: otherwise no cursor could pass it.
        if len(piece) < self._room or (len(indices) == 1 and not self._pieces):
            self._pieces.append(piece)
            self._room -= len(piece) + 1
            self.next_log = before + indices[-1] + 1
        elif len(indices) > 1:
            half = len(indices) // 2
            self._add(view, number, indices[:half], before)
            if not self.is_full:
                self._add(view, number, indices[half:], before)
        else:
            self.is_full = True

    def render(self, cursor: str | None, place: Place) -> bytes:
        """Return the result's text."""
        block = {"number": hex(place.last_number), "hash": hexadecimal(place.last)}
        logs = b",".join(self._pieces)
        return b'{"logs":[%b],"cursor":%b,"block":%b}' % (
            logs,
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


def _resume(view: Snapshot, cursor: LogCursor, digest: bytes) -> Place:
    """Return where the page after a cursor begins.

    Raises:
        RpcError: The cursor belongs to another filter or to a chain that is no longer canonical.
    """
    if cursor.digest != digest:
        raise invalid_params("the cursor belongs to another filter")
    last = view.number_of(cursor.last)
    if last is None:
        raise reorganised(cursor.last)
    count = view.log_count_before(last + 1)
    if cursor.next_log > count:
        # Not a cursor of this node: every chain with the block has this number of logs up to its end.
        raise invalid_params("invalid cursor")
    return Place(cursor.next_log, count, cursor.last, last)


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
        None if cursor is None else LogCursor.parse(cursor),
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
