"""Cursor of a page of logs: a text that the client sends back, complete for any node to continue."""

import hashlib
from contextlib import suppress
from functools import partial
from typing import Any, Final, Self

import msgspec

from wsnode.ethereum.head import Head
from wsnode.ethereum.logs.cursor import DIGEST, LogCursor
from wsnode.ethereum.logs.upstream_logs import LogPosition
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.rpc.common.parameters import NumberOrTag
from wsnode.ethereum.rpc.logs.filter_object import FilterObject
from wsnode.jsonrpc.codec import decode_cursor, encode_cursor

_HASH = 32
_NUMBER = 8
_FORK_VERSION: Final = b"\x03"


class FirstVersionCursor(msgspec.Struct, frozen=True):
    """Cursor of version 1, still accepted from clients that kept one: block hash, number in the chain of the
    next log, and digest of the filter.
    """

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


class ForkCursor(msgspec.Struct, frozen=True):
    """A cursor below the first block of a forked chain, whose logs have no numbers here.

    ```text
    version 3 (1) | last block: hash (32), number (8) | next log: block (8), index (8) | digest (8)
    ```
    """

    last: Head
    following: LogPosition
    digest: bytes

    def __str__(self) -> str:
        numbers = (self.last.number, *self.following)
        encoded = b"".join(number.to_bytes(_NUMBER, "big") for number in numbers)
        return encode_cursor(_FORK_VERSION + self.last.hash + encoded + self.digest)

    @classmethod
    def parse(cls, text: Any) -> Self:
        """Return the cursor that `text` writes.

        Raises:
            ValueError: `text` is no cursor of a fork.
        """
        content = decode_cursor(text, _FORK_VERSION, _HASH + 3 * _NUMBER + DIGEST)
        places = range(_HASH, _HASH + 3 * _NUMBER, _NUMBER)
        last, number, index = (int.from_bytes(content[at : at + _NUMBER], "big") for at in places)
        return cls(Head(BlockNumber(last), Hash32(content[:_HASH])), (number, index), content[-DIGEST:])


PageCursor = LogCursor | FirstVersionCursor | ForkCursor
"""The last block of all pages, and the next log.

Every chain with that block gives a log the same number, so the node keeps no state for a cursor.
"""


def parse_cursor(text: Any) -> PageCursor:
    """Return the cursor that `text` writes, of any version.

    Raises:
        ValueError: It writes none.
    """
    for parse in (partial(LogCursor.parse, of_a_filter=True), ForkCursor.parse):
        with suppress(ValueError):
            return parse(text)
    return FirstVersionCursor.parse(text)


def next_log(cursor: LogCursor | FirstVersionCursor, before: int) -> int:
    """Return the number of the next log, where as many as `before` are in the blocks before the cursor's."""
    return cursor.next_log if isinstance(cursor, FirstVersionCursor) else before + cursor.logs


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
