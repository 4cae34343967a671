"""Filters to poll that several nodes of one chain keep together: what is kept, and what keeps it."""

from typing import Protocol

import msgspec


class StoredFilter(msgspec.Struct, frozen=True):
    """A filter that any of the nodes answers."""

    wish: bytes
    """What is wanted, as the node that made it wrote it."""
    place: bytes
    """The position up to which it was polled."""
    owner: bytes = b""
    """What names the key that made it; only the same key may use it."""


class FilterQuota(msgspec.Struct, frozen=True):
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


class FilterStoreUnavailableError(Exception):
    """What keeps the filters does not answer: whether it has done what it was asked is not known."""


class FilterQuotaError(Exception):
    """There are too many filters."""


class UnreadableFilterError(Exception):
    """What is kept under an id is no filter."""


class FilterStore(Protocol):
    """Keeps filters until they were not polled for a while.

    Every method raises FilterStoreUnavailableError.
    """

    async def add(self, identity: str, new: StoredFilter, room: FilterQuota) -> None:
        """Keep a filter under an id that no other has.

        Raises:
            FilterQuotaError: There are too many.
        """

    async def find(self, identity: str) -> StoredFilter | None:
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
