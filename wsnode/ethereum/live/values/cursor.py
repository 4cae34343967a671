"""Cursors of subscriptions to values: the block and the state whose values a client has.

```text
version 3 (1) | hash of a block (32) | its number (7) | state root (32)
```
A patch of a development chain changes a block's state and not its hash, so the root is included.
"""

from typing import Any, Final, Self

import msgspec

from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.jsonrpc.codec import decode_cursor, encode_cursor

_VERSION: Final = b"\x03"
_HASH: Final = 32
_NUMBER: Final = 7


class StateCursor(msgspec.Struct, frozen=True):
    """Block, and the root of the state after it."""

    head: Head
    root: bytes

    def __str__(self) -> str:
        number = self.head.number.to_bytes(_NUMBER)
        return encode_cursor(b"%b%b%b%b" % (_VERSION, self.head.hash, number, self.root))

    @classmethod
    def parse(cls, text: Any) -> Self:
        """Return the cursor in `text`.

        Raises:
            ValueError: The text is no cursor of this kind.
        """
        content = decode_cursor(text, _VERSION, _HASH + _NUMBER + _HASH)
        block_hash, rest = content[:_HASH], content[_HASH:]
        number = BlockNumber(int.from_bytes(rest[:_NUMBER]))
        return cls(Head(number, Hash32(block_hash)), rest[_NUMBER:])
