"""Snapshots of a development chain, each to be restored once."""

from collections.abc import Sequence

import msgspec

from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.development.clock import ClockSetting
from wsnode.ethereum.development.next_block_overrides import NextBlockOverrides
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Hash32


class RevertPoint(msgspec.Struct, frozen=True):
    """A head, the root of the state after it (which may have been changed), the pool, and the settings."""

    head: Head
    state_root: Hash32
    pooled: Sequence[PooledTransaction]
    clock: ClockSetting
    overrides: NextBlockOverrides


class RevertPoints:
    """The moments taken, by number: from 0 on, none used twice."""

    def __init__(self) -> None:
        self._revert_points: dict[int, RevertPoint] = {}
        self._taken = 0

    @property
    def heads(self) -> dict[int, Head]:
        """Return the heads by number."""
        return {number: moment.head for number, moment in self._revert_points.items()}

    def add(self, moment: RevertPoint) -> int:
        """Keep a moment and return its number."""
        number, self._taken = self._taken, self._taken + 1
        self._revert_points[number] = moment
        return number

    def take(self, number: int) -> RevertPoint | None:
        """Return a moment and remove it with all later ones; None if it does not exist."""
        moment = self._revert_points.get(number)
        if moment is not None:
            self._revert_points = {kept: each for kept, each in self._revert_points.items() if kept < number}
        return moment

    def put_back(self, number: int, moment: RevertPoint) -> None:
        """Keep a moment that was taken and could not be gone back to."""
        self._revert_points[number] = moment

    def clear(self) -> None:
        """Forget them all."""
        self._revert_points.clear()

    def forget_above(self, number: int) -> None:
        """Forget the moments whose head is above a block, because it has left the chain."""
        self._revert_points = {
            kept: each for kept, each in self._revert_points.items() if each.head.number <= number
        }
