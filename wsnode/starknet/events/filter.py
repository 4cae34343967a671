"""Filter of events by contracts and keys."""

from collections.abc import Sequence
from typing import Protocol

from wsnode.starknet.storage.event_bloom import BloomCriteria, address_item, key_item


class HasEmitter(Protocol):
    """Event as far as a filter needs it."""

    @property
    def from_address(self) -> str: ...

    @property
    def keys(self) -> list[str]: ...


class EventFilter:
    """Filter of events: one of the contracts must have emitted an event, with one of the keys at each
    position.

    Without contracts any contract matches, and without keys for a position any key.
    """

    def __init__(self, addresses: Sequence[str], keys: Sequence[Sequence[str]]) -> None:
        self._addresses = frozenset(addresses)
        self._keys = [(position, frozenset(among)) for position, among in enumerate(keys) if among]
        groups = [[key_item(position, key) for key in among] for position, among in self._keys]
        if self._addresses:
            groups.append(list(map(address_item, self._addresses)))
        self.criteria = BloomCriteria(groups)

    def matches(self, event: HasEmitter) -> bool:
        if self._addresses and event.from_address not in self._addresses:
            return False
        keys = event.keys
        return all(position < len(keys) and keys[position] in among for position, among in self._keys)
