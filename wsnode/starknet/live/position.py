"""How far a subscriber has been told, and the text that a client hands back to go on from there."""

import base64
import binascii
from typing import Final, Self

import msgspec

from wsnode.starknet.felt import FELT_BYTES, ZERO, felt_text

_VERSION: Final = b"\x01S"
_SIZE: Final = len(_VERSION) + 8 + FELT_BYTES


class Position(msgspec.Struct, frozen=True):
    """Everything is told up to the block `number` with the hash `hash`."""

    number: int
    """-1 before the first block."""
    hash: bytes

    def __str__(self) -> str:
        content = b"%b%b%b" % (_VERSION, self.number.to_bytes(8, "big", signed=True), self.hash)
        return base64.urlsafe_b64encode(content).decode()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the position that the cursor `text` writes.

        Raises:
            ValueError: It writes none.
        """
        try:
            content = base64.b64decode(text, b"-_", validate=True)
        except (ValueError, binascii.Error):
            content = b""
        number = int.from_bytes(content[len(_VERSION) : -FELT_BYTES], "big", signed=True)
        if len(content) != _SIZE or not content.startswith(_VERSION) or number < -1:
            raise ValueError("invalid cursor")
        return cls(number, content[-FELT_BYTES:])

    @property
    def named(self) -> dict[str, int | str]:
        """Return the block as errors and notices name it."""
        return {"block_number": self.number, "block_hash": felt_text(self.hash)}


BEGINNING: Final = Position(-1, ZERO)
"""Before the first block."""
