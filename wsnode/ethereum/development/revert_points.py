"""Snapshots of a development chain; each can be restored once."""

from collections.abc import Sequence

import msgspec

from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.development.clock import ClockSetting
from wsnode.ethereum.development.next_block_overrides import NextBlockOverrides
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Hash32


class RevertPoint(msgspec.Struct, frozen=True):
    """Head, root of the state after it (which may have been patched), pool, and settings of the next
    block.
    """

    head: Head
    state_root: Hash32
    pooled: Sequence[PooledTransaction]
    clock: ClockSetting
    overrides: NextBlockOverrides


class RevertPoints:
    """Kept revert points by number; numbers begin at 0, and none is used twice."""

    def __init__(self) -> None:
        self._revert_points: dict[int, RevertPoint] = {}
        self._taken = 0

    @property
    def heads(self) -> dict[int, Head]:
        """Return the head of each kept revert point, by its number."""
        return {number: moment.head for number, moment in self._revert_points.items()}

    def add(self, moment: RevertPoint) -> int:
        """Keep a revert point, and return its number."""
        number, self._taken = self._taken, self._taken + 1
        self._revert_points[number] = moment
        return number

    def take(self, number: int) -> RevertPoint | None:
        """Remove and return a revert point, and remove all later ones; None if it does not exist."""
        moment = self._revert_points.get(number)
        if moment is not None:
            self._revert_points = {kept: each for kept, each in self._revert_points.items() if kept < number}
        return moment

    def put_back(self, number: int, moment: RevertPoint) -> None:
        """Keep a revert point again, after a restore of it failed."""
        self._revert_points[number] = moment

    def clear(self) -> None:
        """Remove all revert points."""
        self._revert_points.clear()

    def forget_above(self, number: int) -> None:
        """Remove the revert points whose head is above the block `number`: those heads have left the
        chain.
        """
        self._revert_points = {
            kept: each for kept, each in self._revert_points.items() if each.head.number <= number
        }
