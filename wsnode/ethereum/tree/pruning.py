"""The lower end of a chain that keeps a window of blocks: pruned below it, a slice at a time."""

from bisect import bisect_right
from functools import partial
from typing import Final

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.primitives.values import BlockNumber
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.tree.head_writer import LiveTree, in_thread

PRUNED_AT_ONCE: Final = 1
"""Blocks of one transaction: other writers wait for it, and its Python part holds back other threads."""
VALUES_AT_ONCE: Final = 256
"""Values of the state that one transaction looks at: about a millisecond."""
SIDE_BLOCKS_AT_ONCE: Final = 64
SIDE_EVERY: Final = 64
"""Blocks pruned between two looks at the blocks beside the chain."""


class Pruning:
    """Moves the first block up to where the window begins, but never above what is final.

    States go after their blocks, so that each block that is there can be read; a process that was killed in
    between goes on with them.
    """

    def __init__(self, chain: Chain, live: LiveTree) -> None:
        assert chain.window is not None, "a chain without a window is not pruned"
        self._chain = chain
        self._blocks = chain.window
        self._seconds = chain.kind.window_seconds
        self._most = chain.kind.most_blocks or chain.window
        self._live = live
        self._has_states = not chain.is_light
        """Whether there may be states below the first block."""
        self._pruned = 0
        """Blocks pruned since the last look at the blocks beside the chain began."""
        self._side: bytes = b""

    async def step(self) -> bool:
        """Prune one slice, and return whether there may be more to do.

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
        """Return the first block, and where the window begins.

        A window by time begins with the last block that is old enough. If that is below the first block, it
        is not known where: then it is as low as it can be.
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
        """Prune some blocks beside the chain, now and then; return whether there may be more."""
        if self._pruned < SIDE_EVERY:
            return False
        async with self._live.turn():
            self._side = await in_thread(partial(self._chain.prune_side, self._side, SIDE_BLOCKS_AT_ONCE))
        if not self._side:
            self._pruned = 0
        return bool(self._side)


def _last_at(view: Snapshot, first: BlockNumber, time: int) -> BlockNumber | None:
    """Return the last block from `first` on that is not later than a time, None if `first` is."""
    if _time(view, first) > time:
        return None
    # Times do not go back; blocks of one time follow each other.
    numbers = range(first, view.number + 1)
    return BlockNumber(first + bisect_right(numbers, time, key=lambda number: _time(view, number)) - 1)


def _time(view: Snapshot, number: int) -> int:
    header = view.header(number)
    assert header is not None, "the blocks of the window are stored"
    return header_fields(header).timestamp
