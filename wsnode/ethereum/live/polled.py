"""Filters to poll that several nodes of one chain keep together: what is kept, and what keeps it."""

from typing import Protocol

import msgspec


class Polled(msgspec.Struct, frozen=True):
    """A filter that any of the nodes answers."""

    wish: bytes
    """What is wanted, as the node that made it wrote it."""
    place: bytes
    """The position up to which it was polled."""


class Room(msgspec.Struct, frozen=True):
    """Who makes a filter, how much it weighs, and how much there may be, over all nodes."""

    holder: str
    """The key or the address that it counts for, "" for nobody in particular."""
    weight: int
    """How many addresses and topics it names."""
    most: int
    most_held: int
    """Those of one holder."""
    most_weight: int
    """The sum over all filters."""


class KeeperAwayError(Exception):
    """What keeps the filters does not answer: whether it has done what it was asked is not known."""


class NoRoomError(Exception):
    """There are too many filters."""


class UnreadableFilterError(Exception):
    """What is kept under an id is no filter."""


class Keeper(Protocol):
    """Keeps filters until they were not polled for a while.

    Every method raises KeeperAwayError.
    """

    async def add(self, identity: str, new: Polled, room: Room) -> None:
        """Keep a filter under an id that no other has.

        Raises:
            NoRoomError: There are too many.
        """

    async def find(self, identity: str) -> Polled | None:
        """Return a filter, None if there is none.

        Raises:
            UnreadableFilterError: What is there was put there by something else.
        """

    async def move(self, identity: str, began: bytes, place: bytes) -> bool:
        """Have a filter live on from `place`; False if it does not stand where a poll `began`."""

    async def remove(self, identity: str) -> bool:
        """Forget a filter; False if there is none."""

    def report(self, identity: str, reason: str) -> None:
        """Take note that a filter cannot be read."""
