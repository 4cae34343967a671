"""Where a transaction lies: an index by the first bytes of its hash.

A full hash a transaction would be most of the index's size. The first eight bytes almost always name one
transaction, so an entry lists all places that share them and the body row decides.
"""

from collections.abc import Iterable
from typing import Final

from wsnode.ethereum.codec.rows import Row, holds_transaction
from wsnode.ethereum.primitives.values import BlockNumber
from wsnode.ethereum.storage.tables import BODIES, TRANSACTIONS, number_from
from wsnode.store.environment import Reader, Writer

_PREFIX: Final = 8
# A place is the block's number in five bytes and the index in three.
_PLACE: Final = 8
_NUMBER: Final = 5
_INDEX_BITS: Final = 24
# What a number lacks to be the key of a block's rows.
_KEY_START: Final = bytes(3)


def places(number: int, hashes: bytes) -> Iterable[tuple[bytes, bytes]]:
    """Yield the key and place of each transaction of a block, given its transactions' hashes."""
    first = number << _INDEX_BITS
    for index in range(len(hashes) // 32):
        yield hashes[32 * index : 32 * index + _PREFIX], (first + index).to_bytes(_PLACE, "big")


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


def find(reader: Reader, transaction_hash: bytes) -> tuple[BlockNumber, int, Row] | None:
    """Return a canonical transaction's block number, its index there and the body row; None when unknown."""
    found = place(reader, transaction_hash)
    return None if found is None else (number_from(found[0]), *found[1:])


def place(reader: Reader, transaction_hash: bytes) -> tuple[bytes, int, Row] | None:
    """Return the same with the key of the block's rows instead of its number."""
    listed = reader.get(TRANSACTIONS, transaction_hash[:_PREFIX])
    if listed is None:
        return None
    for start in range(0, len(listed), _PLACE):
        key = _KEY_START + listed[start : start + _NUMBER]
        index = int.from_bytes(listed[start + _NUMBER : start + _PLACE])
        body = reader.view(BODIES, key)
        if body is not None and holds_transaction(body, index, transaction_hash):
            return key, index, body
    return None


def _split(listed: bytes) -> list[bytes]:
    return [listed[start : start + _PLACE] for start in range(0, len(listed), _PLACE)]
