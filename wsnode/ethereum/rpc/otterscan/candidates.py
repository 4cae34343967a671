"""The blocks that a search for an account's transactions reads, in order."""

from collections.abc import Generator, Iterator
from itertools import islice
from typing import Final

from wsnode.ethereum.codec.chain_tables import LogCriteria
from wsnode.ethereum.codec.rows import transaction_count
from wsnode.ethereum.logs.index import search_logs
from wsnode.ethereum.logs.search_result import LogMatches
from wsnode.ethereum.not_found import header_not_found
from wsnode.ethereum.rpc.common.lookup import require_kept
from wsnode.ethereum.rpc.otterscan.fork_search import has_older
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ReorganisedError

FIRST_WINDOW: Final = 1 << 12
"""Blocks of the first window in which changes and logs are looked up; each further window is twice as
long."""
MOST_FOUND: Final = 4096
"""Most changes or logs of a window, beyond which it is halved: some milliseconds."""
EMPTY_AT_ONCE: Final = 128


class CandidateBlocks:
    """Blocks from `start` to one end of the chain, oldest first or newest first.

    At first every block, up to `every` transactions; then the blocks in which the account's nonce,
    balance or code changed or it emitted a log.
    """

    def __init__(self, view: Snapshot, address: bytes, start: int, *, is_forward: bool, every: int) -> None:
        self._view = view
        self._address = address
        self._place = start
        self._is_forward = is_forward
        self._every = every
        self._lowest = view.earliest and view.earliest + 1
        """The first block whose transactions can be run: after a state that there is."""

    def __iter__(self) -> Iterator[int | None]:
        """Yield the numbers of blocks, and None where the search may pause for other callers.

        Raises:
            RpcError: The search needs the state below the first block of a chain that is no fork.
        """
        yield from self._each()
        yield from self._of_history()

    @property
    def _is_done(self) -> bool:
        if not 0 <= self._place <= self._view.number:
            return True
        if self._place < self._lowest and has_older(self._view):
            return True
        require_kept(self._view, max(self._place - 1, 0))
        return False

    def _each(self) -> Iterator[int | None]:
        left, step = self._every, 1 if self._is_forward else -1
        empty = 0
        while left > 0 and not self._is_done:
            body = self._view.view_body(self._place)
            count = 0 if body is None else transaction_count(body)
            number, self._place = self._place, self._place + step
            left -= max(count, 1)
            empty = 0 if count else empty + 1
            if count:
                yield number
            elif empty % EMPTY_AT_ONCE == 0:
                yield None

    def _of_history(self) -> Iterator[int | None]:
        size = FIRST_WINDOW
        while not self._is_done:
            first, last = self._window(size)
            found = yield from self._in_window(first, last)
            if found is None and size > 1:
                size //= 2
                continue
            yield from range(first, last + 1) if found is None else found
            self._place = last + 1 if self._is_forward else first - 1
            size *= 2

    def _window(self, size: int) -> tuple[int, int]:
        if self._is_forward:
            return self._place, min(self._place + size - 1, self._view.number)
        return max(self._place - size + 1, self._lowest), self._place

    def _in_window(self, first: int, last: int) -> Generator[None, None, list[int] | None]:
        """Return the blocks of a window in the order of the search, None if they are too many."""
        changes = self._changes(first, last)
        logs = yield from _logs(self._view, self._address, first, last)
        if len(changes) > MOST_FOUND or logs.exceeded:
            return None
        found = {*changes, *(block.number for block in logs.blocks)}
        return sorted(found, reverse=not self._is_forward)

    def _changes(self, first: int, last: int) -> list[int]:
        view = self._view
        try:
            found = view.state.changes_of(
                self._address,
                (view.number, view.head.hash),
                first if self._is_forward else last,
                is_forward=self._is_forward,
                limit=MOST_FOUND + 1,
            )
        except ReorganisedError:
            raise header_not_found() from None
        return [number for number in found if first <= number <= last]


def _logs(view: Snapshot, address: bytes, first: int, last: int) -> Generator[None, None, LogMatches]:
    return search_logs(view.reader, LogCriteria([address], ()), first, last, limit=MOST_FOUND)


def some(numbers: Iterator[int | None], most: int) -> list[int | None]:
    """Return the next numbers, at most `most`."""
    return list(islice(numbers, most))
