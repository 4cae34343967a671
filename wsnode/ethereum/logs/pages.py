"""Logs in pages: the first matching logs, rendered, as many as fit."""

from collections.abc import Generator, Iterator, Sequence
from typing import Final

import msgspec

from wsnode.ethereum.codec.rendering import stored_log_texts
from wsnode.ethereum.logs.filter import LogFilter
from wsnode.ethereum.logs.index import BlockLogs, first_logs
from wsnode.ethereum.primitives.values import BlockNumber
from wsnode.store.environment import Reader

SMALLEST_LOG: Final = 340
"""Bytes of a rendered log without topics and data, by which the number of logs to look up is bounded."""
_RENDERED_AT_ONCE: Final = 128
_ANY_ROOM: Final = (1 << 63) - 1

Places = list[tuple[BlockNumber, Sequence[int]]]
"""Blocks, and the ascending indices of logs in each."""


class LogPage(msgspec.Struct, frozen=True):
    """Page of matching logs: their JSON texts in the order of the chain, and their blocks and indices;
    `is_last` is True if no more logs match.
    """

    texts: list[bytes]
    places: Places
    """Places of these logs, and perhaps of some that did not fit."""
    is_last: bool

    def logs(self) -> Iterator[tuple[BlockNumber, int, bytes]]:
        """Yield block number, index in the block, and text of each log."""
        texts = iter(self.texts)
        for number, indices in self.places:
            # With `indices` first, `zip` takes no text from the iterator once the indices of a block are used
            # up.
            yield from ((number, index, text) for index, text in zip(indices, texts, strict=False))

    @property
    def last_place(self) -> tuple[BlockNumber, int]:
        """Return block number and index of the last log; the page must not be empty."""
        left = len(self.texts)
        for number, indices in self.places:
            if left <= len(indices):
                return number, indices[left - 1]
            left -= len(indices)
        raise AssertionError("a log without a place")


def page_of_logs(
    reader: Reader,
    wanted: LogFilter,
    begin: int,
    end: int,
    *,
    room: int,
    most: int | None = None,
    may_be_empty: bool = False,
) -> Generator[None, None, LogPage]:
    """Return a page of the first matching logs among those numbered `begin` to before `end`, in any block.

    It has at most `most` logs, as many as fit into `room` bytes with a comma after each. A larger log is a
    page of its own, or no client would get beyond it, unless the page `may_be_empty`. The generator yields
    between slices of about a millisecond.
    """
    most = max(min(most or room, room // SMALLEST_LOG), 1)
    matches = yield from first_logs(reader, wanted.criteria, begin, end, most)
    texts: list[bytes] = []
    places: Places = []
    for some, count in _slices(matches.blocks):
        found = stored_log_texts(reader, some, room)
        if not (found or texts or may_be_empty):
            number, indices = some[0]
            found = stored_log_texts(reader, [(number, indices[:1])], _ANY_ROOM)
        texts += found
        places += some
        if len(found) < count:
            return LogPage(texts, places, is_last=False)
        room = max(room - sum(map(len, found)) - count, 0)
        yield
    return LogPage(texts, places, is_last=not matches.exceeded)


def _slices(blocks: Sequence[BlockLogs]) -> Iterator[tuple[Places, int]]:
    """Yield places of logs to be rendered in one step, and their number."""
    waiting: Places = []
    count = 0
    for number, indices in blocks:
        assert indices is not None, "the first logs have their indices"
        for start in range(0, len(indices), _RENDERED_AT_ONCE):
            some = indices[start : start + _RENDERED_AT_ONCE]
            waiting.append((number, some))
            count += len(some)
            if count >= _RENDERED_AT_ONCE:
                yield waiting, count
                waiting, count = [], 0
    if waiting:
        yield waiting, count
