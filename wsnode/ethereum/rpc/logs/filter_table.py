"""The polled filters of a network, in the memory of one process."""

import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Final, Protocol

from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.logs.filter_changes import Filter
from wsnode.ethereum.snapshot import CallerContext
from wsnode.jsonrpc.errors import limit_exceeded
from wsnode.jsonrpc.resource_quota import ResourceQuota

_IDENTITY_BYTES: Final = 16
IDENTITY_LENGTH: Final = 2 + 2 * _IDENTITY_BYTES
"""Characters of a filter's id."""
FILTERS_UNAVAILABLE: Final = limit_exceeded("no room for filters")
"""The error if nothing can be written: the disk on which several processes keep filters is full."""


class FilterTable(Protocol):
    """Table of polled filters, implemented by `InMemoryFilters` and `SharedFilters`; a filter not polled for
    some time is removed.
    """

    def add(self, new: Filter, caller: CallerContext) -> str:
        """Store a filter, and return its id.

        Raises:
            RpcError: Too many filters are stored.
        """
        ...

    def find(self, identity: str, caller: CallerContext) -> Filter | None:
        """Return a filter of the caller's key, and record that it is polled; None if there is none."""
        ...

    def remove(self, identity: str, caller: CallerContext) -> bool:
        """Remove a filter of the caller's key; return False if it does not exist."""
        ...


class InMemoryFilters:
    """Table of polled filters in the memory of this process; implements `FilterTable`."""

    def __init__(self, limits: CallLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        # In the order of the last poll, the oldest first.
        self._filters: OrderedDict[str, Filter] = OrderedDict()
        self._weight = 0
        self._owned: Counter[str | None] = Counter()
        self._share = ResourceQuota(limits.filters)

    def add(self, new: Filter, caller: CallerContext) -> str:
        self._expire()
        new.owner, new.polled = caller.key_name, self._clock()
        require_room(self._limits, new, self._owned[new.owner], self._weight)
        new.client = caller.client
        self._share.take_or_refuse(new.client, "too many filters")
        identity = new_identity()
        self._filters[identity] = new
        self._weight += new.weight
        self._owned[new.owner] += 1
        return identity

    def find(self, identity: str, caller: CallerContext) -> Filter | None:
        self._expire()
        if (found := self._owned_by(identity, caller)) is not None:
            found.polled = self._clock()
            self._filters.move_to_end(identity)
        return found

    def remove(self, identity: str, caller: CallerContext) -> bool:
        self._expire()
        return self._owned_by(identity, caller) is not None and self._remove(identity)

    def _owned_by(self, identity: str, caller: CallerContext) -> Filter | None:
        found = self._filters.get(identity)
        return found if found is not None and found.owner == caller.key_name else None

    def _expire(self) -> None:
        last = self._clock() - self._limits.filter_seconds
        while self._filters and next(iter(self._filters.values())).polled < last:
            self._remove(next(iter(self._filters)))

    def _remove(self, identity: str) -> bool:
        if (found := self._filters.pop(identity, None)) is None:
            return False
        self._weight -= found.weight
        self._share.give_back(found.client)
        self._owned[found.owner] -= 1
        if not self._owned[found.owner]:
            del self._owned[found.owner]
        return True


def require_room(limits: CallLimits, new: Filter, owned: int, weight: int) -> None:
    """Check that a filter fits the bounds: `owned` filters of its key, and parameters of all filters
    (`weight`).

    Raises:
        RpcError: A bound is exceeded.
    """
    if new.owner is not None and owned >= limits.filters_per_key:
        raise limit_exceeded("too many filters", {"limit": limits.filters_per_key})
    if weight + new.weight > limits.filters_parameters:
        raise limit_exceeded("too many filters", {"parameters": limits.filters_parameters})


def new_identity() -> str:
    """Return the id of a new filter, which no client can guess."""
    return f"0x{secrets.token_hex(_IDENTITY_BYTES)}"
