"""The position of a subscription, and the cursor with which a client continues from it."""

from typing import Final, Self

import msgspec

from wsnode.jsonrpc.codec import decode_cursor, encode_cursor
from wsnode.starknet.felt import FELT_BYTES, ZERO, felt_text

_VERSION: Final = b"\x01S"
_SIZE: Final = 8 + FELT_BYTES


class StarknetPosition(msgspec.Struct, frozen=True):
    """The position after block `number` with hash `hash`."""

    number: int
    """-1 before the first block."""
    hash: bytes

    def __str__(self) -> str:
        content = b"%b%b%b" % (_VERSION, self.number.to_bytes(8, "big", signed=True), self.hash)
        return encode_cursor(content)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the position encoded in the cursor `text`.

        Raises:
            ValueError: `text` is no cursor.
        """
        content = decode_cursor(text, _VERSION, _SIZE)
        number = int.from_bytes(content[:8], "big", signed=True)
        if number < -1:
            raise ValueError("invalid cursor")
        return cls(number, content[8:])

    @property
    def named(self) -> dict[str, int | str]:
        """Return the block in the form of errors and notices."""
        return {"block_number": self.number, "block_hash": felt_text(self.hash)}


BEGINNING: Final = StarknetPosition(-1, ZERO)
"""Before the first block."""
