"""The results of polled filters: each filter is a position in the store, read from there to the head."""

from collections.abc import Generator
from typing import Any, Final, TypeAlias

from wsnode.ethereum.head import Head
from wsnode.ethereum.live.branches import UnknownPositionError
from wsnode.ethereum.live.pages import Pages, header_page, log_page
from wsnode.ethereum.live.pending_feed import LaggedError, PendingFeed, PendingSpec, render_hash
from wsnode.ethereum.live.position import BEGINNING, Position
from wsnode.ethereum.logs.filter import LogFilter
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.rpc.logs.filter_object import FilterObject
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ChainSpec
from wsnode.jsonrpc.errors import limit_exceeded
from wsnode.jsonrpc.resource_quota import ClientId
from wsnode.jsonrpc.work import ReplyChunks

Slices: TypeAlias = Generator[int | None, Any, bytes | ReplyChunks]

NOTHING: Final = b"[]"
POLL_BYTES: Final = 8 * 1024 * 1024
"""Bytes of one poll's results; the next poll returns the rest."""


class Filter:
    """Polled filter (eth_newFilter and others) in this process's memory, with its creator, and the time of
    its last poll.
    """

    __slots__ = ("client", "owner", "polled", "weight")

    def __init__(self, weight: int = 0) -> None:
        self.weight = weight
        """Number of its addresses and topics."""
        self.owner: str | None = None
        self.client: ClientId | None = None
        """The connection that created it."""
        self.polled = 0.0
        """Monotonic time, in seconds, of its creation or last poll."""

    def changes(self, view: Snapshot, most: int) -> Slices:
        """Return the results since the last poll, at most `most`, as a JSON array."""
        raise NotImplementedError


class ChainFilter(Filter):
    """Polled filter of logs or of block hashes, with the position up to which its client has polled."""

    __slots__ = ("_spec", "filter_object", "position", "wanted")

    def __init__(
        self,
        view: Snapshot,
        wanted: LogFilter | None = None,
        filter_object: FilterObject | None = None,
    ) -> None:
        super().__init__(0 if wanted is None else wanted.parameter_count)
        self.position = starting_position(view)
        """The position up to which the client has polled."""
        self._spec: ChainSpec | None = view.spec
        """Chain specification at its creation; None for a filter that another process may have made."""
        self.wanted = wanted
        """Filter of logs; None for the hashes of blocks."""
        self.filter_object = filter_object
        """Filter object of the request, whose blocks are resolved again for each answer."""

    def changes(self, view: Snapshot, most: int) -> Slices:
        began = self.position
        try:
            results, position = yield from results_since(view, self.wanted, began, most)
        except UnknownPositionError:
            if self._spec is not None and self._spec is not view.spec:
                # The chain has been replaced by another one, of which the client has missed nothing.
                self._spec, self.position = view.spec, Position.after(view.head)
                return NOTHING
            if began.number > view.number:
                # A later poll, on a newer view, has returned results that this view does not have yet.
                return NOTHING
            raise
        if not self.advance(began, position):
            # A concurrent poll has returned these results already.
            return NOTHING
        return b"[%b]" % b",".join(results)

    def move(self, position: Position) -> None:
        self.position = position

    def advance(self, began: Position, position: Position) -> bool:
        """Set the filter's position to `position`; return False if it has moved since a poll that `began`
        there.
        """
        if self.position is not began:
            return False
        self.position = position
        return True


def starting_position(view: Snapshot) -> Position:
    """Return the position of a new filter: after the head, or before all blocks of a folder without any."""
    return Position.after(view.head) if view.has_begun else BEGINNING


def _before_first(view: Snapshot) -> Position:
    first = view.earliest
    header = view.header(first)
    assert header is not None, "the first block is stored"
    return (
        BEGINNING
        if first == 0
        else Position.after(Head(BlockNumber(first - 1), Hash32(view.parent_hash(header))))
    )


def results_since(
    view: Snapshot, wanted: LogFilter | None, position: Position, most: int
) -> Generator[None, Any, tuple[list[bytes], Position]]:
    """Return the wanted logs since a position, or the hashes of blocks, and the position behind them.

    Raises:
        UnknownPositionError: The position's block is not stored.
    """
    if position == BEGINNING:
        if not view.has_begun:
            return [], position
        position = _before_first(view)
    target = view.head
    results: list[bytes] = []
    size = 0
    while position != Position.after(target) and len(results) < most and size < POLL_BYTES:
        page = yield from _page(view, wanted, position, target)
        items = page.items[: most - len(results)]
        results += [item.result for item in items]
        size += sum(len(item.result) for item in items)
        position = page.position if len(items) == len(page.items) else items[-1].behind
    return results, position


def _page(view: Snapshot, wanted: LogFilter | None, position: Position, target: Head) -> Pages:
    if wanted is None:
        return header_page(view, position, target, hashes=True)
    return log_page(view, wanted, position, target)


class PendingFilter(Filter):
    """Polled filter of pending transactions; only the latest transactions are kept between two polls."""

    __slots__ = ("_count", "_feed", "_subject")

    def __init__(self, feed: PendingFeed, subject: PendingSpec) -> None:
        super().__init__(subject.wanted.weight)
        self._feed = feed
        self._subject = subject
        self._count = feed.count

    def changes(self, view: Snapshot, most: int) -> Slices:
        """Return the transactions since the last poll, at most `most`, as a JSON array.

        Raises:
            RpcError: Some are no longer kept; the next poll continues after them.
        """
        yield from ()
        try:
            arrivals = self._feed.since(self._count)
        except LaggedError as missed:
            self._count = self._feed.oldest
            raise limit_exceeded("pending transactions were missed", {"missed": missed.count}) from None
        render = self._feed.render if self._subject.full else render_hash
        results: list[bytes] = []
        for arrival in arrivals:
            if len(results) == most:
                break
            self._count += 1
            if self._subject.wanted.selects(arrival.sender, arrival.to):
                results.append(render(arrival))
        return b"[%b]" % b",".join(results)
