"""Store of filters that several nodes of one chain share, to be polled at any of them."""

from typing import Protocol

import msgspec


class StoredFilter(msgspec.Struct, frozen=True):
    """Polled filter (eth_newFilter) in the store shared by all nodes, so that any of them can answer its
    polls.
    """

    wish: bytes
    """Subject of the filter, encoded by the node that made it."""
    place: bytes
    """Position up to which the filter was polled."""
    owner: bytes = b""
    """Digest of the API key that made the filter; only the same key may use it."""


class FilterQuota(msgspec.Struct, frozen=True):
    """Holder and weight of a new polled filter, and the maximum numbers of filters and of weights over all
    nodes.
    """

    holder: str
    """API key or address for which the filter is counted; empty for no holder."""
    weight: int
    """Number of addresses and topics that the filter names."""
    max_filters: int
    max_held: int
    """Maximum number of filters of one holder; `max_filters` is that of all."""
    max_weight: int
    """Maximum sum of the weights of all filters."""


class FilterStoreUnavailableError(Exception):
    """Error: the store of filters does not answer, so the request may or may not have taken effect."""


class FilterQuotaError(Exception):
    """Error: too many filters are stored."""


class UnreadableFilterError(Exception):
    """Error: the value stored under an id is no filter."""


class FilterStore(Protocol):
    """Store of polled filters shared by all nodes, implemented by `RedisFilterStore`. A filter is removed
    some time after its last poll; every method raises FilterStoreUnavailableError.
    """

    async def add(self, identity: str, new: StoredFilter, room: FilterQuota) -> None:
        """Store a filter under a new id.

        Raises:
            FilterQuotaError: A bound is reached.
        """

    async def find(self, identity: str) -> StoredFilter | None:
        """Return a filter, None if there is none.

        Raises:
            UnreadableFilterError: The stored value is no filter.
        """

    async def move(self, identity: str, began: bytes, place: bytes) -> bool:
        """Set a filter's position to `place` if it still is `began`, and return True; else return False."""

    async def remove(self, identity: str) -> bool:
        """Remove a filter; return False if there is none."""

    def report(self, identity: str, reason: str) -> None:
        """Record that a filter cannot be read."""
