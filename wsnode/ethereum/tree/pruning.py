"""Pruning of a chain with a window of blocks, one slice at a time."""

from bisect import bisect_right
from functools import partial
from typing import Final

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.primitives.values import BlockNumber
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.tree.head_writer import LiveTree, in_thread

PRUNED_AT_ONCE: Final = 1
"""Blocks pruned in one transaction: it delays other writers, and its Python part other threads."""
VALUES_AT_ONCE: Final = 256
"""Values of the state visited in one transaction: about a millisecond."""
SIDE_BLOCKS_AT_ONCE: Final = 64
SIDE_EVERY: Final = 64
"""Blocks pruned between two passes over the side blocks."""


class Pruning:
    """Pruner that moves the first block up to the beginning of the window, never above the finalized block.

    States are deleted after their blocks, so that each stored block can be read. If the process is killed in
    between, the next one continues with them.
    """

    def __init__(self, chain: Chain, live: LiveTree) -> None:
        assert chain.window is not None, "a chain without a window is not pruned"
        self._chain = chain
        self._blocks = chain.window
        self._seconds = chain.kind.window_seconds
        self._most = chain.kind.most_blocks or chain.window
        self._live = live
        self._has_states = not chain.is_light
        """True if there may be states below the first block."""
        self._pruned = 0
        """Number of blocks pruned since the last pass over the side blocks began."""
        self._side: bytes = b""

    async def step(self) -> bool:
        """Prune one slice, and return True if there may be more to prune.

        Raises:
            StateError, StoreError: A store cannot be written.
        """
        if self._has_states:
            async with self._live.turn():
                self._has_states = await in_thread(partial(self._chain.prune_state, VALUES_AT_ONCE))
            return True
        first, lowest = self.bounds()
        if first < lowest:
            await self._prune(min(lowest - first, PRUNED_AT_ONCE))
            return True
        return await self._prune_side()

    def bounds(self) -> tuple[int, int]:
        """Return the number of the first block, and the number at which the window begins.

        A window by time begins with the last block that is old enough. If no stored block is, its beginning
        is not known; the lowest possible number is returned then.
        """
        with self._chain.snapshot() as view:
            first, finalized = view.earliest, view.finalized or 0
            lowest = min(view.number - self._blocks + 1, finalized)
            if self._seconds is not None:
                bottom = view.number - self._most + 1
                old = _last_at(view, first, _time(view, view.number) - self._seconds)
                lowest = min(lowest, bottom if old is None else max(old, bottom))
        return first, max(lowest, 0)

    async def _prune(self, blocks: int) -> None:
        async with self._live.turn():
            await in_thread(partial(self._chain.prune, blocks))
        self._has_states = not self._chain.is_light
        self._pruned += blocks

    async def _prune_side(self) -> bool:
        """Prune some side blocks, at intervals; return True if there may be more."""
        if self._pruned < SIDE_EVERY:
            return False
        async with self._live.turn():
            self._side = await in_thread(partial(self._chain.prune_side, self._side, SIDE_BLOCKS_AT_ONCE))
        if not self._side:
            self._pruned = 0
        return bool(self._side)


def _last_at(view: Snapshot, first: BlockNumber, time: int) -> BlockNumber | None:
    """Return the number of the last block from `first` on not later than `time`, None if `first` is later."""
    if _time(view, first) > time:
        return None
    # Timestamps never decrease along the chain, so `bisect_right` finds the last of the blocks with one
    # timestamp.
    numbers = range(first, view.number + 1)
    return BlockNumber(first + bisect_right(numbers, time, key=lambda number: _time(view, number)) - 1)


def _time(view: Snapshot, number: int) -> int:
    header = view.header(number)
    assert header is not None, "the blocks of the window are stored"
    return header_fields(header).timestamp
