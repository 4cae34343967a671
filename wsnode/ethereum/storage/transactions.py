"""The index of transactions by the first bytes of their hashes, whose form the engine owns.

A row lists all places that share these bytes, and the body rows decide which of them is meant.
"""

from collections.abc import Iterable

from wsnode.ethereum.codec.rows import PLACE_BYTES
from wsnode.ethereum.storage.tables import TRANSACTIONS
from wsnode.store.environment import Writer


def add(writer: Writer, entries: Iterable[tuple[bytes, bytes]]) -> None:
    """Add places to the index."""
    # In key order each page of the table is visited once.
    ordered = sorted(entries)
    if writer.put_new(TRANSACTIONS, ordered) == len(ordered):
        return
    for key, place in ordered:
        listed = writer.get(TRANSACTIONS, key) or b""
        if place not in _split(listed):
            writer.put(TRANSACTIONS, key, listed + place)


def remove(writer: Writer, entries: Iterable[tuple[bytes, bytes]]) -> None:
    """Take places out of the index."""
    for key, place in entries:
        left = [other for other in _split(writer.get(TRANSACTIONS, key) or b"") if other != place]
        if left:
            writer.put(TRANSACTIONS, key, b"".join(left))
        else:
            writer.delete(TRANSACTIONS, key)


def _split(listed: bytes) -> list[bytes]:
    return [listed[start : start + PLACE_BYTES] for start in range(0, len(listed), PLACE_BYTES)]
