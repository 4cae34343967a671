"""Bloom filters of the addresses and keys in a block's events, which searches test before they read a body.

A filter has a power of two of bits, at least ten for each item, of which seven are set: fewer than one in a
hundred filters without an item seem to have it.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Final, TypeAlias

from wsnode.starknet.body import StoredBody, StoredEvent, events_of

BITS_AN_ITEM: Final = 10
PROBES: Final = 7
MIN_BITS: Final = 64
MAX_KEYS: Final = 16
"""Maximum number of keys of an event that filters can name; later keys are in no Bloom filter."""
_HALF: Final = 2**64 - 1

Bit: TypeAlias = tuple[int, int]
"""Index of a byte in a Bloom filter, and one bit of that byte."""


def address_item(address: str) -> str:
    """Return the item of the contract that emits an event; `address` is in canonical form."""
    return f"a{address}"


def key_item(position: int, key: str) -> str:
    """Return the item of an event's key at `position`; `key` is in canonical form."""
    return f"{position:x}{key}"


def body_bloom(body: StoredBody) -> bytes:
    """Return the Bloom filter of all events of a block."""
    items: set[str] = set()
    for receipt in body.receipts:
        for event in events_of(receipt):
            items.update(_items(event))
    return bloom_of(items)


def _items(event: StoredEvent) -> Iterator[str]:
    yield address_item(event.from_address)
    for position, key in enumerate(event.keys[:MAX_KEYS]):
        yield key_item(position, key)


def bloom_of(items: Iterable[str]) -> bytes:
    """Return the Bloom filter of distinct items."""
    hashes = list(map(_hash, items))
    bits = MIN_BITS
    while bits < BITS_AN_ITEM * len(hashes):
        bits *= 2
    bloom = bytearray(bits // 8)
    for item_hash in hashes:
        for place, bit in _bits(item_hash, bits):
            bloom[place] |= bit
    return bytes(bloom)


class BloomCriteria:
    """Condition to test against blocks' Bloom filters: groups of addresses or keys, of which an event must
    have one item each.
    """

    def __init__(self, groups: Sequence[Iterable[str]]) -> None:
        self._groups = [list(map(_hash, group)) for group in groups]
        self._placed: dict[int, list[list[list[Bit]]]] = {}
        """Bits of the groups, by the size of filters in bytes."""

    def may_match(self, bloom: bytes) -> bool:
        """Return False if the block of a filter certainly has no matching event, else True."""
        groups = self._placed.get(len(bloom))
        if groups is None:
            groups = self._placed[len(bloom)] = self._place(8 * len(bloom))
        return all(any(all(bloom[place] & bit for place, bit in item) for item in group) for group in groups)

    def _place(self, bits: int) -> list[list[list[Bit]]]:
        return [[_bits(item_hash, bits) for item_hash in group] for group in self._groups]


def _hash(item: str) -> int:
    return int.from_bytes(blake2b(item.encode(), digest_size=16).digest(), "big")


def _bits(item_hash: int, bits: int) -> list[Bit]:
    """Return the bits of an item, by double hashing; since the step is odd, all probes are different bits."""
    start, step = item_hash >> 64, item_hash & _HALF | 1
    places = [(start + probe * step) % bits for probe in range(PROBES)]
    return [(place // 8, 1 << place % 8) for place in places]
