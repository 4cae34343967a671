"""Position of a subscription, and the cursor with which a client continues from it."""

from typing import Any, Final, Self

import msgspec

from wsnode.ethereum.head import Head
from wsnode.ethereum.logs.cursor import LogCursor, cursor_text
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.jsonrpc.codec import decode_cursor

ALL: Final = (1 << 32) - 1
"""Count of logs that stands for all logs of a block."""
_FIRST_VERSION: Final = b"\x01"
_FIRST_SIZE: Final = 8 + 32 + 4


class Position(msgspec.Struct, frozen=True):
    """Position in the block `number` with the hash `hash`, after its first `logs` logs.

    The cursor of a notification is the position after it: after the log `i` it is `i + 1`, after that log's
    removal `i`, after a block's header 0.
    """

    number: int
    """Block number; -1 before the genesis block."""
    hash: Hash32
    logs: int

    def __str__(self) -> str:
        return cursor_text(self.number, self.hash, self.logs)

    @classmethod
    def parse(cls, text: Any) -> Self:
        """Return the position in the cursor `text`.

        Raises:
            ValueError: The text is no cursor of a position.
        """
        try:
            cursor = LogCursor.parse(text, of_a_filter=False)
        except ValueError:
            return cls._parse_first(text)
        if not 0 <= cursor.logs <= ALL:
            raise ValueError("invalid cursor")
        return cls(cursor.number, cursor.hash, cursor.logs)

    @classmethod
    def _parse_first(cls, text: Any) -> Self:
        """Return the position in a cursor of the first version: number, hash, logs (4 bytes)."""
        content = decode_cursor(text, _FIRST_VERSION, _FIRST_SIZE)
        number = int.from_bytes(content[:8], "big", signed=True)
        if number < -1:
            raise ValueError("invalid cursor")
        return cls(number, Hash32(content[8:40]), int.from_bytes(content[40:], "big"))

    @classmethod
    def after(cls, head: Head) -> Self:
        """Return the position after a block and all its logs."""
        return cls(head.number, head.hash, ALL)

    @property
    def head(self) -> Head:
        return Head(BlockNumber(self.number), self.hash)


BEGINNING: Final = Position(-1, Hash32(bytes(32)), ALL)
"""Position before the genesis block."""
