"""The bytes of an unfinished message: none is copied when others come."""

from collections.abc import Sized
from typing import Final

from websockets.typing import BytesLike

PART_BYTES: Final = 16 * 1024
"""From this length on, what has come is kept as it is; shorter ones are gathered."""


class MessageBuffer(Sized):
    """What has come of a message; `len` says how many bytes."""

    __slots__ = ("_gathered", "_kept", "_size")

    def __init__(self) -> None:
        """Begin with nothing."""
        self._kept: list[BytesLike] = []
        self._gathered = bytearray()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, payload: BytesLike) -> None:
        """Add what has come, and must not be changed any more."""
        self._size += len(payload)
        if len(payload) >= PART_BYTES:
            self._set_aside()
            self._kept.append(payload)
            return
        self._gathered += payload
        if len(self._gathered) >= PART_BYTES:
            self._set_aside()

    def _set_aside(self) -> None:
        if self._gathered:
            self._kept.append(self._gathered)
            self._gathered = bytearray()

    def join(self) -> bytes:
        """Return the message."""
        return b"".join((*self._kept, self._gathered))
