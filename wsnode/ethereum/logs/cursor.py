"""Cursors in a chain's logs: texts that a client sends back to continue a search.

```text
version 2 (1) | hash of a block (32) | its number (7, signed) | logs (5, signed) | digest of a filter (8 or 0)
```
The position is in the chain that ends with the block, `logs` logs after the block's first log; if `logs` is
negative, before it. Integers are big-endian.
"""

from typing import Any, Final, Self

import msgspec

from wsnode.ethereum.primitives.values import Hash32
from wsnode.jsonrpc.codec import decode_cursor, encode_cursor

DIGEST: Final = 8
"""Bytes of a filter's digest."""
_VERSION: Final = b"\x02"
_HASH: Final = 32
_NUMBER: Final = 7
_LOGS: Final = 5
_PLACE: Final = _HASH + _NUMBER + _LOGS


class LogCursor(msgspec.Struct, frozen=True):
    """Position among the logs of the chain that ends with a block (`number`, `hash`): `logs` logs after this
    block's first log, or before it if negative.
    """

    number: int
    """Block number; -1 before the genesis block."""
    hash: Hash32
    logs: int
    digest: bytes = b""
    """Digest of the only filter that may continue from here; empty if any filter may."""

    def __str__(self) -> str:
        return cursor_text(self.number, self.hash, self.logs, self.digest)

    @classmethod
    def parse(cls, text: Any, *, of_a_filter: bool) -> Self:
        """Return the cursor in `text`, with a digest if it is `of_a_filter`, else without.

        Raises:
            ValueError: The text is no cursor, or one of the other kind.
        """
        content = decode_cursor(text, _VERSION, _PLACE + (DIGEST if of_a_filter else 0))
        number = int.from_bytes(content[_HASH : _HASH + _NUMBER], "big", signed=True)
        if number < -1:
            raise ValueError("invalid cursor")
        logs = int.from_bytes(content[_HASH + _NUMBER : _PLACE], "big", signed=True)
        return cls(number, Hash32(content[:_HASH]), logs, content[_PLACE:])


def cursor_text(number: int, block_hash: bytes, logs: int, digest: bytes = b"") -> str:
    """Return the text of a cursor."""
    return encode_cursor(
        b"%b%b%b%b%b"
        % (
            _VERSION,
            block_hash,
            number.to_bytes(_NUMBER, "big", signed=True),
            logs.to_bytes(_LOGS, "big", signed=True),
            digest,
        )
    )
