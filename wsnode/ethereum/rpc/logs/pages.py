"""wsnode_getLogsPage: the logs of a filter in pages of bounded size, all from one chain."""

from collections.abc import Generator, Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from wsnode.ethereum.head import Head
from wsnode.ethereum.live.block_barrier import Awaited, SeenHead
from wsnode.ethereum.logs.cursor import LogCursor
from wsnode.ethereum.logs.filter import LogFilter
from wsnode.ethereum.logs.pages import LogPage, page_of_logs
from wsnode.ethereum.logs.upstream_logs import LogPosition, UpstreamLogPage, fetch_head, fetch_logs
from wsnode.ethereum.not_found import history_unavailable
from wsnode.ethereum.primitives.values import BlockNumber, hexadecimal
from wsnode.ethereum.rpc.common.below_fork import await_below, below_of
from wsnode.ethereum.rpc.common.decoding import kind, mismatch, parse_quantity
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.lookup import below_first, require_kept
from wsnode.ethereum.rpc.common.parameters import numbers
from wsnode.ethereum.rpc.logs.cursor import (
    FirstVersionCursor,
    ForkCursor,
    PageCursor,
    digest_of,
    next_log,
    parse_cursor,
)
from wsnode.ethereum.rpc.logs.filter_object import MEMBERS, FilterObject, decode_filter_object, require_known
from wsnode.ethereum.rpc.logs.methods import LOG_ERRORS, block_range, wanted_logs
from wsnode.ethereum.rpc.logs.schemas import PAGE, PAGE_FILTER
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.errors import RESOURCE_NOT_FOUND, RpcError, invalid_params, limit_exceeded, server_error
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import JsonText, Step


class HistorySearch(msgspec.Struct, frozen=True):
    """Search for a page of logs below a fork's first block: the block and index in it where the page begins,
    and the last block of the whole search.
    """

    begin: LogPosition
    last: Head


def begin_below(view: Snapshot, filter_object: FilterObject) -> Generator[Step, Any, HistorySearch | None]:
    """Return the start of a filter's first page, None if it is not below the first block.

    Raises:
        RpcError: The blocks do not exist, or the other node gives no answer.
    """
    block_hash = filter_object.block_hash
    if block_hash is None:
        first, last = block_range(view, filter_object, joins=True)
        if first >= view.earliest:
            return None
        return HistorySearch((first, 0), (yield from head_of(view, last)))
    if view.block_rows(block_hash) is not None:
        return None
    below = below_of(view)
    found = yield from await_below(lambda: fetch_head(below, block_hash))
    if found is None or found.head.number >= view.earliest:
        return None
    if (yield from head_of(view, found.head.number)) != found.head:
        raise server_error("hash is not currently canonical")
    return HistorySearch((found.head.number, 0), found.head)


def head_of(view: Snapshot, number: int) -> Generator[Step, Any, Head]:
    """Return a block of the chain, here or below.

    Raises:
        RpcError: The other node does not have it.
    """
    if (own := view.hash_of(number)) is not None:
        return Head(BlockNumber(number), own)
    below = below_of(view)
    found = yield from await_below(lambda: fetch_head(below, number))
    if found is None:
        raise history_unavailable(f"the forked chain's node has no block {number}")
    return found.head


def page_below(
    view: Snapshot, wanted: LogFilter, search: HistorySearch, *, room: int, most: int | None
) -> Generator[Step, Any, UpstreamLogPage]:
    """Return the first logs of a search in the blocks below the first one.

    Raises:
        RpcError: The other node does not give them.
    """
    below, end = below_of(view), min(search.last.number, view.earliest - 1)
    return (
        yield from await_below(lambda: fetch_logs(below, wanted, search.begin, end, room=room, most=most))
    )


def cursor_behind(page: UpstreamLogPage, search: HistorySearch, digest: bytes) -> ForkCursor | None:
    """Return the cursor to continue from, None if the page is the last one."""
    is_last = page.following[0] > search.last.number
    return None if is_last else ForkCursor(search.last, page.following, digest)


Slices: TypeAlias = Generator[Step, Any, bytes]


class PageFilter:
    """Parameter of wsnode_getLogsPage: the filter of logs, the cursor from the previous page, and the maximum
    number of logs of a page; the last two may be missing.
    """

    __slots__ = ("cursor", "filter", "limit")

    def __init__(self, filter_object: FilterObject, cursor: PageCursor | None, limit: int | None) -> None:
        self.filter = filter_object
        self.cursor = cursor
        self.limit = limit

    def named_blocks(self) -> Iterator[Awaited]:
        """Yield the blocks that the request depends on.

        With a cursor this is its block alone: a node of the chain had it when it made the cursor.
        """
        if isinstance(self.cursor, LogCursor):
            yield SeenHead(self.cursor.number, self.cursor.hash)
        elif isinstance(self.cursor, ForkCursor):
            yield SeenHead(self.cursor.last.number, self.cursor.last.hash)
        elif self.cursor is None:
            yield from self.filter.named_blocks()


class LogPageParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[filter]`, with `cursor` and `limit` among its members."""

    filter: PageFilter


class PageStart(msgspec.Struct, frozen=True):
    """Range of logs for a page, from `begin` to before `end`: numbers in the sequence of all logs of the
    chain that ends with `last`.
    """

    begin: int
    end: int
    last: Head


class LogPageMethods:
    """Handler of wsnode_getLogsPage, within the limits of calls."""

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits

    def get_page(self, view: Snapshot, params: LogPageParameters) -> Slices:
        """Return `{logs, cursor, block}`: a page of logs, the cursor of the next (null: none), the last
        block.
        """
        asked, digest = params.filter, digest_of(params.filter.filter)
        wanted, room = wanted_logs(asked.filter, self._limits), self._limits.logs_page_bytes
        if asked.cursor is not None and asked.cursor.digest != digest:
            raise invalid_params("the cursor belongs to another filter")
        place = yield from _place(view, asked)
        if isinstance(place, HistorySearch):
            return (yield from self._page_of_fork(view, asked, place))
        page = yield from page_of_logs(
            view.reader, wanted, place.begin, place.end, room=room, most=asked.limit
        )
        return _rendered(page.texts, _cursor_behind(view, page, place, digest), place.last)

    def _page_of_fork(self, view: Snapshot, asked: PageFilter, search: HistorySearch) -> Slices:
        """Return a page that begins below the first block, with logs from there on."""
        wanted, digest = asked.filter.wanted, digest_of(asked.filter)
        room, most = self._limits.logs_page_bytes, asked.limit
        found = yield from page_below(view, wanted, search, room=room, most=most)
        texts, cursor = [log.text for log in found.logs], cursor_behind(found, search, digest)
        is_full = most is not None and len(texts) >= most
        if cursor is None or found.following[0] < view.earliest or is_full:
            return _rendered(texts, cursor, search.last)
        place = _from_place(view, found.following, search.last)
        page = yield from page_of_logs(
            view.reader,
            wanted,
            place.begin,
            place.end,
            room=max(room - sum(len(text) + 1 for text in texts), 0),
            most=None if most is None else most - len(texts),
            may_be_empty=bool(texts),
        )
        if not page.is_last and not page.texts:
            return _rendered(texts, cursor, search.last)
        return _rendered([*texts, *page.texts], _cursor_behind(view, page, place, digest), search.last)


def _cursor_behind(view: Snapshot, page: LogPage, place: PageStart, digest: bytes) -> LogCursor | None:
    if page.is_last:
        return None
    number, index = page.last_place
    following = view.log_count_before(number) + index + 1
    last = place.last
    return LogCursor(last.number, last.hash, following - view.log_count_before(last.number), digest)


def _rendered(texts: Sequence[bytes], cursor: LogCursor | ForkCursor | None, last: Head) -> JsonText:
    return b'{"logs":[%b],"cursor":%b,"block":%b}' % (
        b",".join(texts),
        msgspec.json.encode(cursor and str(cursor)),
        msgspec.json.encode(last.members()),
    )


def _place(view: Snapshot, asked: PageFilter) -> Generator[Step, Any, "PageStart | HistorySearch"]:
    """Return the start of a page, among the logs here or below the first block of a forked chain.

    Raises:
        RpcError: The blocks do not exist, or no longer.
    """
    cursor = asked.cursor
    if isinstance(cursor, ForkCursor):
        return (yield from _resume_below(view, cursor))
    if cursor is not None:
        return _resume(view, cursor)
    search = None if view.below is None else (yield from begin_below(view, asked.filter))
    return search or _begin(view, asked.filter)


def _begin(view: Snapshot, filter_object: FilterObject) -> PageStart:
    """Return the start of a filter's first page.

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
    return _from_place(view, (first, 0), Head(last, last_hash))


def _from_place(view: Snapshot, place: LogPosition, last: Head) -> PageStart:
    """Return the start of a page at a log of a block here.

    Raises:
        RpcError: There is no such place up to the last block.
    """
    number, index = place
    begin, end = view.log_count_before(number) + index, view.log_count_before(last.number + 1)
    if begin > end:
        raise invalid_params("invalid cursor")
    return PageStart(begin, end, last)


def _resume(view: Snapshot, cursor: LogCursor | FirstVersionCursor) -> PageStart:
    """Return the start of the page after a cursor.

    Raises:
        RpcError: The cursor's block is no longer canonical, or blocks after the cursor are pruned.
    """
    last = view.number_of(cursor.hash)
    if last is None:
        if isinstance(cursor, LogCursor):
            require_kept(view, cursor.number)
        raise reorganised(cursor.hash)
    begin, end = next_log(cursor, view.log_count_before(last)), view.log_count_before(last + 1)
    if not 0 <= begin <= end:
        # The node made no such cursor: every chain with this block has the same number of logs up to it.
        raise invalid_params("invalid cursor")
    if begin < view.log_count_before(view.earliest):
        # Logs that belong on the page were pruned with their blocks.
        raise below_first(view, view.earliest - 1)
    return PageStart(begin, end, Head(last, cursor.hash))


def _resume_below(view: Snapshot, cursor: ForkCursor) -> Generator[Step, Any, PageStart | HistorySearch]:
    """Return where the page after a forked chain's cursor begins: here, or in a search below the fork.

    Raises:
        RpcError: The cursor belongs to another chain, or the fork's upstream gives no answer.
    """
    last, (number, _index) = cursor.last, cursor.following
    if number > last.number:
        raise invalid_params("invalid cursor")
    if view.below is None or last.number > view.number or (yield from head_of(view, last.number)) != last:
        raise reorganised(last.hash)
    if number < view.earliest:
        return HistorySearch(cursor.following, last)
    return _from_place(view, cursor.following, last)


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
        RpcError: A member is none of these.
    """
    filter_object = decode_filter_object(value)
    require_known(value, ("cursor", "limit"), in_any_case=MEMBERS)
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


def _contracts_of(params: LogPageParameters) -> list[int] | None:
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
    method(LogPageMethods(limits).get_page)


register_type(PageFilter, decode_page_filter, PAGE_FILTER)
