"""Snapshots of a development chain, each to be restored once."""

from collections.abc import Sequence

import msgspec

from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.development.clock import Setting
from wsnode.ethereum.development.plans import Wishes
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Hash32


class Moment(msgspec.Struct, frozen=True):
    """A head, the root of the state after it (which may have been changed), the pool, and the settings."""

    head: Head
    state_root: Hash32
    pooled: Sequence[PooledTransaction]
    clock: Setting
    wishes: Wishes


class Moments:
    """The moments taken, by number: from 0 on, none used twice."""

    def __init__(self) -> None:
        self._moments: dict[int, Moment] = {}
        self._taken = 0

    @property
    def heads(self) -> dict[int, Head]:
        """Return the heads by number."""
        return {number: moment.head for number, moment in self._moments.items()}

    def add(self, moment: Moment) -> int:
        """Keep a moment and return its number."""
        number, self._taken = self._taken, self._taken + 1
        self._moments[number] = moment
        return number

    def take(self, number: int) -> Moment | None:
        """Return a moment and remove it with all later ones; None if it does not exist."""
        moment = self._moments.get(number)
        if moment is not None:
            self._moments = {kept: each for kept, each in self._moments.items() if kept < number}
        return moment

    def put_back(self, number: int, moment: Moment) -> None:
        """Keep a moment that was taken and could not be gone back to."""
        self._moments[number] = moment

    def clear(self) -> None:
        """Forget them all."""
        self._moments.clear()

    def forget_above(self, number: int) -> None:
        """Forget the moments whose head is above a block, because it has left the chain."""
        self._moments = {kept: each for kept, each in self._moments.items() if each.head.number <= number}
