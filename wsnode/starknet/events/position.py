"""Position of a search for events, and its encoding as a continuation token."""

from typing import Final, Self

import msgspec

from wsnode.jsonrpc.codec import decode_cursor, encode_cursor
from wsnode.starknet.felt import FELT_BYTES

WHOLE: Final = 2**32 - 1
"""Value of `count` for the position after all events of the block."""
_VERSION: Final = b"\x01E"
_SIZE: Final = 8 + 4 + FELT_BYTES


class EventPosition(msgspec.Struct, frozen=True):
    """Position after the first `count` events of block `number` with hash `hash`.

    The block is the last one of which the client has seen events. So a position stays valid while all blocks
    that the client has seen are on the chain; blocks above may be replaced.
    """

    number: int
    count: int
    """Number of the block's events before the position, matching or not."""
    hash: bytes

    def __str__(self) -> str:
        numbers = self.number.to_bytes(8, "big") + self.count.to_bytes(4, "big")
        return encode_cursor(_VERSION + numbers + self.hash)

    @classmethod
    def parse(cls, token: str) -> Self:
        """Return the position encoded in a continuation token.

        Raises:
            ValueError: It is no token.
        """
        content = decode_cursor(token, _VERSION, _SIZE)
        return cls(
            int.from_bytes(content[:8], "big"), int.from_bytes(content[8:12], "big"), bytes(content[12:])
        )
