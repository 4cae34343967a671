"""The cursor of a page of logs: text that a client sends back, with all that a node needs to continue."""

import hashlib
from typing import Any, Self

import msgspec

from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.rpc.form.parameters import NumberOrTag
from wsnode.ethereum.rpc.logs.filter_object import FilterObject
from wsnode.jsonrpc.cursors import decode_cursor, encode_cursor

_VERSION = b"\x01"
_HASH = 32
_NUMBER = 8
_DIGEST = 8
_SIZE = _HASH + _NUMBER + _DIGEST


class LogCursor(msgspec.Struct, frozen=True):
    """The number of the next log in the chain that ends with block `last`, for the filter of `digest`.

    Every chain with that block gives a log the same number, so the node keeps no state for a cursor.
    """

    last: Hash32
    next_log: int
    digest: bytes

    def __str__(self) -> str:
        content = _VERSION + self.last + self.next_log.to_bytes(_NUMBER, "big") + self.digest
        return encode_cursor(content)

    @classmethod
    def parse(cls, text: Any) -> Self:
        """Return the cursor encoded in `text`.

        Raises:
            ValueError: `text` is no cursor.
        """
        content = decode_cursor(text, _VERSION, _SIZE)
        block_hash, number, digest = content[:-16], content[-16:-8], content[-8:]
        return cls(Hash32(block_hash), int.from_bytes(number, "big"), digest)


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
    return hashlib.blake2b(msgspec.json.encode(members), digest_size=_DIGEST).digest()


def _place(number: NumberOrTag | None) -> int | None:
    return None if number is None else int(number)
