"""Pages of logs that begin below the first block of a forked chain."""

from collections.abc import Generator
from typing import Any

import msgspec

from wsnode.ethereum.head import Head
from wsnode.ethereum.logs.filter import LogFilter
from wsnode.ethereum.logs.upstream_logs import LogPosition, UpstreamLogPage, fetch_head, fetch_logs
from wsnode.ethereum.not_found import history_unavailable
from wsnode.ethereum.primitives.values import BlockNumber
from wsnode.ethereum.rpc.common.below_fork import await_below, below_of
from wsnode.ethereum.rpc.logs.cursor import ForkCursor
from wsnode.ethereum.rpc.logs.filter_object import FilterObject
from wsnode.ethereum.rpc.logs.methods import block_range
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.errors import server_error
from wsnode.jsonrpc.work import Step


class HistorySearch(msgspec.Struct, frozen=True):
    """The place where a page begins, and the last block of all pages."""

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
