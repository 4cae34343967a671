"""Matches of a search for logs: blocks, and the logs in each."""

from collections.abc import Generator, Sequence
from typing import NamedTuple

import msgspec

from wsnode.ethereum.primitives.values import BlockNumber


class BlockLogs(NamedTuple):
    """Logs of one block by their index in it, ascending; `indices` of None means all of the block's logs."""

    number: BlockNumber
    indices: Sequence[int] | None


class LogMatches(msgspec.Struct, frozen=True):
    """Number of matching logs and their blocks; if `exceeded`, there are more matches than the limit."""

    count: int
    exceeded: bool
    blocks: list[BlockLogs]


Search = Generator[None, None, LogMatches]


def add_located(blocks: list[BlockLogs], located: list[tuple[int, Sequence[int]]]) -> None:
    """Append located logs to `blocks`, merging those of a block that is there already."""
    if blocks and located and blocks[-1].number == located[0][0]:
        # What came before ended within this block.
        number, indices = located[0]
        located[0] = number, [*(blocks.pop().indices or ()), *indices]
    # A third of the time of calls with names, which is a twentieth of a search for ten logs.
    blocks += map(BlockLogs._make, located)


def first_of(found: LogMatches, most: int) -> LogMatches:
    """Return the first `most` logs of a search; `exceeded` means that there are more."""
    if found.count <= most:
        return found
    blocks: list[BlockLogs] = []
    room = most
    for number, indices in found.blocks:
        assert indices is not None, "logs that match are listed"
        if not room:
            break
        blocks.append(BlockLogs(number, indices[:room]))
        room -= len(blocks[-1].indices or ())
    return LogMatches(most, exceeded=True, blocks=blocks)
