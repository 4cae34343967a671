"""Which events a client wants: those of some contracts, with some keys."""

from collections.abc import Sequence
from typing import Protocol

from wsnode.starknet.storage.event_bloom import BloomCriteria, address_item, key_item


class HasEmitter(Protocol):
    """An event as far as a filter asks for it."""

    @property
    def from_address(self) -> str:
        """Return the contract that emitted it."""
        ...

    @property
    def keys(self) -> list[str]:
        """Return its keys."""
        ...


class EventFilter:
    """Contracts, of which one must have emitted an event, and alternatives of keys by position.

    No contracts stand for any, and so do no alternatives.
    """

    def __init__(self, addresses: Sequence[str], keys: Sequence[Sequence[str]]) -> None:
        self._addresses = frozenset(addresses)
        self._keys = [(position, frozenset(among)) for position, among in enumerate(keys) if among]
        groups = [[key_item(position, key) for key in among] for position, among in self._keys]
        if self._addresses:
            groups.append(list(map(address_item, self._addresses)))
        self.criteria = BloomCriteria(groups)

    def matches(self, event: HasEmitter) -> bool:
        """Return True if the filter matches an event."""
        if self._addresses and event.from_address not in self._addresses:
            return False
        keys = event.keys
        return all(position < len(keys) and keys[position] in among for position, among in self._keys)
