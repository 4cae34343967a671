"""The cursor of a page of logs: text that a client sends back, with all that a node needs to continue."""

import hashlib
from typing import Any, Self

import msgspec

from wsnode.ethereum.logs.cursor import DIGEST, Cursor
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.rpc.form.parameters import NumberOrTag
from wsnode.ethereum.rpc.logs.filter_object import FilterObject
from wsnode.jsonrpc.cursors import decode_cursor

_HASH = 32
_NUMBER = 8


class FirstCursor(msgspec.Struct, frozen=True):
    """A cursor of the first version, which clients may have kept: it names the next log by its number."""

    hash: Hash32
    next_log: int
    digest: bytes

    @classmethod
    def parse(cls, text: Any) -> Self:
        """Return the cursor that `text` writes: hash, number of the next log (8), digest.

        Raises:
            ValueError: `text` is no cursor.
        """
        content = decode_cursor(text, b"\x01", _HASH + _NUMBER + DIGEST)
        block_hash, rest = content[:_HASH], content[_HASH:]
        return cls(Hash32(block_hash), int.from_bytes(rest[:_NUMBER], "big"), rest[_NUMBER:])


PageCursor = Cursor | FirstCursor
"""The last block of all pages, and the next log.

Every chain with that block gives a log the same number, so the node keeps no state for a cursor.
"""


def parse_cursor(text: Any) -> PageCursor:
    """Return the cursor that `text` writes, of either version.

    Raises:
        ValueError: It writes none.
    """
    try:
        return Cursor.parse(text, of_a_filter=True)
    except ValueError:
        return FirstCursor.parse(text)


def next_log(cursor: PageCursor, before: int) -> int:
    """Return the number of the next log, where as many as `before` are in the blocks before the cursor's."""
    return cursor.next_log if isinstance(cursor, FirstCursor) else before + cursor.logs


def digest_of(filter_object: FilterObject) -> bytes:
    """Return the digest of a filter, which does not depend on the order of alternatives."""
    wanted = filter_object.wanted.canonical()
    members: list[Any] = [
        filter_object.block_hash and bytes(filter_object.block_hash),
        _place(filter_object.from_block),
        _place(filter_object.to_block),
        wanted.addresses,
        wanted.topics,
    ]
    return hashlib.blake2b(msgspec.json.encode(members), digest_size=DIGEST).digest()


def _place(number: NumberOrTag | None) -> int | None:
    return None if number is None else int(number)
